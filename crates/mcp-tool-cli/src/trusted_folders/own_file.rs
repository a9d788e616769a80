//! A file that is the user's alone: what others could have written is not believed.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

/// Whether somebody else than its user (or root) can change the file: it, or the folder that it is in,
/// belongs to another user or can be written by everyone. Where the system does not tell, nobody can.
pub(super) fn others_can_change(file: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        let open = |path: &Path| -> io::Result<bool> {
            let metadata = fs::metadata(path)?;
            let foreign = ![0, user].contains(&metadata.uid());
            Ok(foreign || metadata.mode() & 0o002 != 0)
        };
        Ok(open(file)? || file.parent().map_or(Ok(false), open)?)
    }
    #[cfg(not(unix))]
    fs::metadata(file).map(|_| false)
}

/// Makes the folder, and those above it, for the user alone.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Waits until no other process changes the file, and keeps them away until this is dropped.
///
/// It is not the file itself that is locked, since that is replaced.
pub(super) fn lock(file: &Path) -> io::Result<File> {
    let lock = File::create(file.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Readers see the old text or the new one. On Unix only the user may read it.
pub(super) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}
