use std::path::{Path, PathBuf};

use super::{Config, ConfigError, Entry};
use crate::trusted_folders::TrustedFolders;

/// The files that servers are looked up in.
///
/// Either one that the user named, or those that are there anyway: the user's own, and `.mcp.json` of the
/// folder that the command runs in. The second is whoever's wrote the folder, so it is not even opened
/// unless the folder is trusted; and the user's own entry stands where both have one of a name.
#[derive(Clone, Debug)]
pub struct Files(Which);

#[derive(Clone, Debug)]
enum Which {
    Explicit(PathBuf),
    Implicit { user: Option<PathBuf>, workspace: Workspace },
}

#[derive(Clone, Debug)]
enum Workspace {
    Absent,
    LeftOut(PathBuf),
    Trusted(PathBuf),
}

/// Every entry that can be used.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The entries: first the user's, then those of the folder.
    pub entries: Vec<Entry>,
    /// Those of the folder that the user's own entries of the same name stand before.
    pub hidden: Vec<Entry>,
}

impl Files {
    /// The one file that the user named.
    pub fn explicit(file: impl Into<PathBuf>) -> Self {
        Self(Which::Explicit(file.into()))
    }

    /// `mcp.json` in the user's directory and, where the folder is trusted, `.mcp.json` in it.
    pub fn implicit(user_directory: Option<&Path>, folder: &Path, trusted: &TrustedFolders) -> Self {
        let file = folder.join(".mcp.json");
        let workspace = match file.symlink_metadata() {
            Err(_) => Workspace::Absent,
            Ok(_) if trusted.is_trusted(folder) => Workspace::Trusted(file),
            Ok(_) => Workspace::LeftOut(file),
        };
        let user = user_directory.map(|directory| directory.join("mcp.json"));
        Self(Which::Implicit { user, workspace })
    }

    /// The file that is left out because its folder is not trusted.
    pub fn left_out(&self) -> Option<&Path> {
        match &self.0 {
            Which::Implicit { workspace: Workspace::LeftOut(file), .. } => Some(file),
            _ => None,
        }
    }

    /// The entry of exactly this name. The folder's file is opened only when the user's has none.
    ///
    /// # Errors
    ///
    /// When a file that has to be read is of no use.
    pub fn find(&self, name: &str) -> Result<Option<Entry>, ConfigError> {
        for config in self.readable() {
            if let Some(entry) = config?.entry(name) {
                return Ok(Some(entry.clone()));
            }
        }
        Ok(None)
    }

    /// Every entry.
    ///
    /// # Errors
    ///
    /// When a file is of no use.
    pub fn all(&self) -> Result<Found, ConfigError> {
        let mut found = Found { entries: Vec::new(), hidden: Vec::new() };
        for config in self.readable() {
            for entry in config?.entries() {
                let hidden = found.entries.iter().any(|former| former.name() == entry.name());
                if hidden { &mut found.hidden } else { &mut found.entries }.push(entry.clone());
            }
        }
        Ok(found)
    }

    /// The files that may be read, each when its turn comes. One that need not be there may be absent.
    fn readable(&self) -> impl Iterator<Item = Result<Config, ConfigError>> {
        let files: [Option<&PathBuf>; 2] = match &self.0 {
            Which::Explicit(file) => [Some(file), None],
            Which::Implicit { user, workspace } => {
                let user = user.as_ref().filter(|file| file.symlink_metadata().is_ok());
                let workspace = match workspace {
                    Workspace::Trusted(file) => Some(file),
                    Workspace::Absent | Workspace::LeftOut(_) => None,
                };
                [user, workspace]
            }
        };
        files.into_iter().flatten().map(|file| Config::read(file))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        root: tempfile::TempDir,
        trusted: TrustedFolders,
    }

    impl Place {
        fn new(user: Option<&str>, workspace: Option<&str>) -> Self {
            let root = tempfile::tempdir().unwrap();
            for (folder, file, text) in [("user", "mcp.json", user), ("work", ".mcp.json", workspace)] {
                fs::create_dir(root.path().join(folder)).unwrap();
                if let Some(text) = text {
                    fs::write(root.path().join(folder).join(file), text).unwrap();
                }
            }
            let trusted = TrustedFolders::in_file(root.path().join("trusted.json"));
            Self { root, trusted }
        }

        fn trust(&self) {
            self.trusted.add(&self.root.path().join("work")).unwrap();
        }

        fn files(&self) -> Files {
            let folder = |name: &str| self.root.path().join(name);
            Files::implicit(Some(&folder("user")), &folder("work"), &self.trusted)
        }
    }

    const ONE: &str = r#"{"mcpServers": {"both": {"command": "user"}, "own": {"command": "user"}}}"#;
    const OTHER: &str = r#"{"mcpServers": {"both": {"command": "work"}, "theirs": {"command": "work"}}}"#;

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(Entry::name).collect()
    }

    #[test]
    fn the_file_of_an_untrusted_folder_is_not_opened() {
        let place = Place::new(Some(ONE), Some("this is no JSON"));
        let files = place.files();
        assert!(files.left_out().unwrap().ends_with("work/.mcp.json"));
        assert_eq!(names(&files.all().unwrap().entries), ["both", "own"]);
        assert!(files.find("theirs").unwrap().is_none());
        // It would have been noticed.
        place.trust();
        assert!(place.files().all().is_err());
    }

    #[test]
    fn the_users_own_entry_stands_before_that_of_a_trusted_folder() {
        let place = Place::new(Some(ONE), Some(OTHER));
        place.trust();
        let files = place.files();
        assert_eq!(files.left_out(), None);
        let found = files.all().unwrap();
        assert_eq!(names(&found.entries), ["both", "own", "theirs"]);
        assert_eq!(names(&found.hidden), ["both"]);
        assert!(found.entries[0].file().ends_with("user/mcp.json"));
        assert!(files.find("both").unwrap().unwrap().file().ends_with("user/mcp.json"));
        assert!(files.find("theirs").unwrap().unwrap().file().ends_with("work/.mcp.json"));
    }

    #[test]
    fn what_is_not_there_is_no_error_unless_it_was_asked_for() {
        let place = Place::new(None, None);
        assert_eq!(place.files().left_out(), None);
        assert!(place.files().all().unwrap().entries.is_empty());
        assert!(Files::explicit(place.root.path().join("none.json")).all().is_err());
    }

    #[test]
    fn a_file_that_the_user_named_needs_no_trusted_folder_and_is_the_only_one() {
        let place = Place::new(Some(ONE), Some(OTHER));
        let files = Files::explicit(place.root.path().join("work/.mcp.json"));
        assert_eq!((files.left_out(), names(&files.all().unwrap().entries)), (None, vec!["both", "theirs"]));
    }
}
