use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};

/// Where images, sounds and binary data of a result go; nowhere, unless a folder is named.
pub(super) struct Attachments<'a> {
    folder: Option<&'a Path>,
    saved: usize,
    problem: Option<io::Error>,
}

impl<'a> Attachments<'a> {
    pub(super) fn new(folder: Option<&'a Path>) -> Self {
        Self { folder, saved: 0, problem: None }
    }

    /// Saves data, and says where; else how much it is. A file that is there already is not written over.
    pub(super) fn take(&mut self, base64: &str, mime_type: &str) -> String {
        let Ok(data) = STANDARD.decode(base64) else { return "not readable as base64".into() };
        let size = format!("{} bytes", data.len());
        let Some(folder) = self.folder else { return size };
        match save(folder, self.saved + 1, extension(mime_type), &data) {
            Ok(file) => {
                self.saved += 1;
                format!("{size}, {}", file.display())
            }
            Err(error) => {
                self.problem.get_or_insert(error);
                size
            }
        }
    }

    /// Why something could not be saved.
    pub(super) fn into_problem(self) -> Option<io::Error> {
        self.problem
    }
}

/// Saves data as the first file of this number or a later one that is not there yet. Its name has nothing
/// of the server's.
fn save(folder: &Path, first: usize, extension: &str, data: &[u8]) -> io::Result<PathBuf> {
    let mut number = first;
    loop {
        let file = folder.join(format!("{number}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).open(&file) {
            Ok(mut open) => return open.write_all(data).map(|()| file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn extension(mime_type: &str) -> &'static str {
    match mime_type {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "text/plain" => "txt",
        _ => "bin",
    }
}
