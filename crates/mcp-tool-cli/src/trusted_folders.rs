//! The folders that the user trusts, in a file of the user's.
//!
//! A trusted folder is a trusted workspace: calls made from it, or from a folder below it, may be repeated
//! under double trust, and its `.mcp.json` is read. The file is JSON, `{"folders": ["/home/me/work"]}`,
//! with canonical paths. A file that cannot be read or understood trusts nothing.

mod own_file;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The user's directory for this command: `mcp-tool` in `$XDG_CONFIG_HOME`, or in `~/.config` where that
/// is not set or no absolute path (on Windows in `%APPDATA%`). None when there is no such place either.
pub fn user_directory() -> Option<PathBuf> {
    directory("XDG_CONFIG_HOME", ".config", "APPDATA")
}

/// Where this command keeps what it can do without: the same in `$XDG_CACHE_HOME` or `~/.cache` (on Windows in
/// `%LOCALAPPDATA%`).
pub fn user_cache_directory() -> Option<PathBuf> {
    directory("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA")
}

fn directory(variable: &str, in_home: &str, on_windows: &str) -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || match cfg!(windows) {
        true => absolute(on_windows),
        false => Some(absolute("HOME")?.join(in_home)),
    };
    Some(absolute(variable).or_else(usual)?.join("mcp-tool"))
}

/// The folders in one file. Nothing is kept: each question reads the file, so that what another process
/// has withdrawn is withdrawn.
#[derive(Clone, Debug)]
pub struct TrustedFolders {
    file: Option<PathBuf>,
}

/// What [`TrustedFolders::remove`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The folder was in the file.
    Removed,
    /// It was not, but is below this one, which is, so it is still trusted.
    StillCovered(PathBuf),
    /// It was not trusted.
    WasNot,
}

/// Why the file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The user has no directory for it.
    #[error("there is no place for trusted folders: neither XDG_CONFIG_HOME nor HOME is an absolute path")]
    NoPlace,
    /// It cannot be read.
    #[error("{}: {error}; no folder is trusted", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody else could have written it.
    #[error(
        "{}: others than you can change this file, or put another in its place; no folder is trusted. \
         Look at what it says, then make it and its folder yours alone (chmod o-w, chown)",
        file.display()
    )]
    Exposed {
        /// The file.
        file: PathBuf,
    },
    /// It is not what this command writes.
    #[error("{}: this is no list of trusted folders; none is trusted. Correct or remove it", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
    },
    /// It cannot be written.
    #[error("{}: {error}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The folder that was named is none.
    #[error("{}: {error}", folder.display())]
    NoFolder {
        /// What was named.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    folders: Vec<PathBuf>,
}

impl TrustedFolders {
    /// `trusted_folders.json` in the [user's directory](user_directory).
    pub fn of_user() -> Self {
        Self { file: user_directory().map(|directory| directory.join("trusted_folders.json")) }
    }

    /// The folders in this file.
    pub fn in_file(file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()) }
    }

    /// Whether the folder, or one above it, is trusted. Anything that is not known is not trusted.
    pub fn is_trusted(&self, folder: &Path) -> bool {
        matches!(self.covering(folder), Ok(Some(_)))
    }

    /// The trusted folder that this one is, or lies in, after symbolic links were followed.
    ///
    /// # Errors
    ///
    /// When the file, or the folder, cannot be read.
    pub fn covering(&self, folder: &Path) -> Result<Option<PathBuf>, TrustError> {
        let folder = canonical(folder)?;
        Ok(self.list()?.into_iter().find(|trusted| folder.starts_with(trusted)))
    }

    /// The folders, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// When the file cannot be read. One that does not exist is an empty one.
    pub fn list(&self) -> Result<Vec<PathBuf>, TrustError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let text = match own_file::others_can_change(file) {
            Ok(true) => return Err(TrustError::Exposed { file: file.clone() }),
            Ok(false) => fs::read(file),
            Err(error) => Err(error),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(TrustError::Unreadable { file: file.clone(), error }),
        };
        match serde_json::from_slice::<Content>(&text) {
            Ok(content) if content.folders.iter().all(|folder| folder.is_absolute()) => Ok(content.folders),
            _ => Err(TrustError::Malformed { file: file.clone() }),
        }
    }

    /// Trusts a folder, and says what it is called after symbolic links were followed.
    ///
    /// # Errors
    ///
    /// When there is no such folder, or the file cannot be read or written.
    pub fn add(&self, folder: &Path) -> Result<PathBuf, TrustError> {
        let folder = canonical(folder)?;
        self.change(|folders| {
            if !folders.contains(&folder) {
                folders.push(folder.clone());
            }
        })?;
        Ok(folder)
    }

    /// Trusts a folder no more. It need not exist any more.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn remove(&self, folder: &Path) -> Result<Removed, TrustError> {
        let canonical = canonical(folder).ok();
        let written = std::path::absolute(folder)
            .map_err(|error| TrustError::NoFolder { folder: folder.to_owned(), error })?;
        let folder = canonical.unwrap_or(written);
        self.change(|folders| {
            let before = folders.len();
            folders.retain(|trusted| *trusted != folder);
            match folders.iter().find(|trusted| folder.starts_with(trusted)) {
                Some(above) => Removed::StillCovered(above.clone()),
                None if folders.len() < before => Removed::Removed,
                None => Removed::WasNot,
            }
        })
    }

    /// Changes the file as a whole, one process after the other.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<PathBuf>) -> T) -> Result<T, TrustError> {
        let file = self.file.as_ref().ok_or(TrustError::NoPlace)?;
        let unwritable = |error| TrustError::Unwritable { file: file.clone(), error };
        let directory = file.parent().ok_or(TrustError::NoPlace)?;
        own_file::make_folder(directory).map_err(unwritable)?;
        let _lock = own_file::lock(file).map_err(unwritable)?;
        let before = self.list()?;
        let mut folders = before.clone();
        let changed = change(&mut folders);
        if folders != before {
            let text = serde_json::to_string_pretty(&Content { folders })
                .map_err(|error| unwritable(error.into()))?;
            own_file::replace(file, &(text + "\n")).map_err(unwritable)?;
        }
        Ok(changed)
    }
}

fn canonical(folder: &Path) -> Result<PathBuf, TrustError> {
    let no_folder = |error| TrustError::NoFolder { folder: folder.to_owned(), error };
    let canonical = folder.canonicalize().map_err(no_folder)?;
    if canonical.is_dir() { Ok(canonical) } else { Err(no_folder(io::ErrorKind::NotADirectory.into())) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        os::unix::fs::{PermissionsExt, symlink},
        thread,
    };

    use super::*;

    struct Place {
        root: PathBuf,
        folders: TrustedFolders,
        _folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            for name in ["a/b", "ab", "c"] {
                fs::create_dir_all(root.join(name)).unwrap();
            }
            let folders = TrustedFolders::in_file(root.join("config/mcp-tool/trusted_folders.json"));
            Self { root, folders, _folder: folder }
        }

        fn trusts(&self, name: &str) -> bool {
            self.folders.is_trusted(&self.root.join(name))
        }
    }

    #[test]
    fn a_folder_covers_what_is_below_it_and_nothing_else() {
        let place = Place::new();
        assert!(!place.trusts("a"));
        assert_eq!(place.folders.add(&place.root.join("a/../a")).unwrap(), place.root.join("a"));
        let trusted = ["a", "a/b", "ab", "c", "", "a/none"].map(|name| place.trusts(name));
        assert_eq!(trusted, [true, true, false, false, false, false]);
        assert_eq!(place.folders.covering(&place.root.join("a/b")).unwrap(), Some(place.root.join("a")));
    }

    #[test]
    fn a_symbolic_link_is_judged_by_where_it_leads() {
        let place = Place::new();
        symlink(place.root.join("c"), place.root.join("a/out")).unwrap();
        symlink(place.root.join("a"), place.root.join("in")).unwrap();
        place.folders.add(&place.root.join("a")).unwrap();
        assert!(!place.trusts("a/out"), "it leads out of the trusted folder");
        assert!(place.trusts("in"), "it leads into the trusted folder");
        // The folder that was trusted is replaced by a link to another one.
        fs::rename(place.root.join("a"), place.root.join("moved")).unwrap();
        symlink(place.root.join("c"), place.root.join("a")).unwrap();
        assert!(!place.trusts("a"));
    }

    #[test]
    fn adding_is_idempotent_and_removing_tells_what_still_covers() {
        let place = Place::new();
        let [a, b, c] = ["a", "a/b", "c"].map(|name| place.root.join(name));
        for folder in [&a, &b, &a] {
            place.folders.add(folder).unwrap();
        }
        assert_eq!(place.folders.list().unwrap(), [a.clone(), b.clone()]);
        assert_eq!(place.folders.remove(&b).unwrap(), Removed::StillCovered(a.clone()));
        assert_eq!(place.folders.remove(&c).unwrap(), Removed::WasNot);
        fs::remove_dir_all(&a).unwrap();
        assert_eq!(place.folders.remove(&a).unwrap(), Removed::Removed, "it need not exist any more");
        assert!(place.folders.list().unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_understood_trusts_nothing_and_is_not_overwritten() {
        let place = Place::new();
        let a = place.root.join("a");
        place.folders.add(&a).unwrap();
        let file = place.folders.file.clone().unwrap();
        for text in
            ["", "[]", r#"{"folders": ["a"]}"#, r#"{"folders": [], "more": 1}"#, r#"{"folders": "/"}"#]
        {
            fs::write(&file, text).unwrap();
            assert!(matches!(place.folders.list(), Err(TrustError::Malformed { .. })), "{text}");
            assert!(!place.folders.is_trusted(&a));
            assert!(place.folders.add(&a).is_err());
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(matches!(place.folders.list(), Err(TrustError::Unreadable { .. })));
        assert!(!place.folders.is_trusted(&a));
    }

    #[test]
    fn a_file_that_others_can_change_trusts_nothing_and_is_left_as_it_is() {
        let place = Place::new();
        let a = place.root.join("a");
        place.folders.add(&a).unwrap();
        let file = place.folders.file.clone().unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (path, open, own) in [(file.as_path(), 0o602, 0o600), (file.parent().unwrap(), 0o703, 0o700)] {
            set(path, open);
            assert!(matches!(place.folders.list(), Err(TrustError::Exposed { .. })));
            assert!(!place.folders.is_trusted(&a));
            assert!(place.folders.add(&place.root.join("c")).is_err() && place.folders.remove(&a).is_err());
            set(path, own);
            assert_eq!(place.folders.list().unwrap(), std::slice::from_ref(&a));
        }
    }

    #[test]
    fn only_the_user_can_read_the_file() {
        let place = Place::new();
        place.folders.add(&place.root).unwrap();
        let file = place.folders.file.clone().unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn concurrent_changes_lose_nothing() {
        let place = Place::new();
        let names: Vec<_> = (0..16).map(|number| place.root.join(format!("f{number}"))).collect();
        thread::scope(|scope| {
            for name in &names {
                let folders = &place.folders;
                scope.spawn(move || {
                    fs::create_dir(name).unwrap();
                    folders.add(name).unwrap();
                });
            }
        });
        let mut listed = place.folders.list().unwrap();
        listed.sort();
        let mut expected = names;
        expected.sort();
        assert_eq!(listed, expected);
    }

    #[test]
    fn without_a_place_nothing_is_trusted_and_nothing_can_be() {
        let nowhere = TrustedFolders { file: None };
        assert!(!nowhere.is_trusted(Path::new("/")));
        assert!(nowhere.list().unwrap().is_empty());
        assert!(matches!(nowhere.add(Path::new("/")), Err(TrustError::NoPlace)));
    }
}
