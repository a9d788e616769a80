//! Makes new inputs out of old ones: the usual mutations of bytes, and words of a dictionary.

/// The same inputs in the same order every time.
pub(crate) struct Mutator<'a> {
    seeds: &'a [Vec<u8>],
    words: Vec<Vec<u8>>,
    longest: usize,
    /// Of the generator xorshift64*.
    state: u64,
}

impl<'a> Mutator<'a> {
    /// `words` is a dictionary of libFuzzer's.
    pub(crate) fn new(seeds: &'a [Vec<u8>], words: &str, longest: usize) -> Self {
        let words = words.lines().filter(|line| !line.starts_with('#')).map(word).collect();
        Self { seeds, words, longest, state: 0x9e37_79b9_7f4a_7c15 }
    }

    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut input = self.seed();
        for _ in 0..=self.below(8) {
            self.mutate(&mut input);
        }
        input.truncate(self.longest);
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let (from, to) = self.range(input.len());
        match self.below(9) {
            0 => {
                if let Some(byte) = input.get_mut(from) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(from) {
                    *byte = self.random() as u8;
                }
            }
            2 => drop(input.drain(from..to)),
            3 => {
                let piece = input[from..to].to_vec();
                let at = self.below(input.len() + 1);
                input.splice(at..at, piece);
            }
            4 | 5 => {
                let word = self.below(self.words.len());
                input.splice(from..from, self.words[word].clone());
            }
            6 => {
                let word = self.below(self.words.len());
                input.splice(from..to, self.words[word].clone());
            }
            7 => {
                let other = self.seed();
                let (first, last) = self.range(other.len());
                input.splice(from..to, other[first..last].to_vec());
            }
            // Many of one piece.
            _ => {
                let piece = input[from..to.min(from + 16)].to_vec();
                let times = self.below(1 + 512 / piece.len().max(1));
                input.splice(from..from, piece.repeat(times));
            }
        }
    }

    fn seed(&mut self) -> Vec<u8> {
        let seed = self.below(self.seeds.len());
        self.seeds[seed].clone()
    }

    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        (from, from + self.below(length - from + 1))
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random() % bound.max(1) as u64) as usize
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}

/// A line of a dictionary: a quoted text with `\xNN` for what cannot stand there.
fn word(line: &str) -> Vec<u8> {
    let mut rest = line.trim_matches('"').as_bytes();
    let mut word = Vec::new();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                let hex = String::from_utf8(vec![*high, *low]).expect("hexadecimal digits");
                word.push(u8::from_str_radix(&hex, 16).expect("hexadecimal digits"));
                rest = after;
            }
            _ => word.push(*first),
        }
    }
    word
}
