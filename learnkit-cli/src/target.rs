//! The file that `export` writes: it appears whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use learnkit::{Error, ErrorKind, Result};
use tempfile::NamedTempFile;

use crate::source::SQLITE;

/// A file to be written beside its place and then put there.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    replaces: bool,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    Plain(BufWriter<NamedTempFile>),
    Gzip(GzEncoder<BufWriter<NamedTempFile>>),
}

impl Target {
    /// Begins a file for a path; `replaces` says whether a file that is there may go.
    ///
    /// # Errors
    /// `Conflict` when something is there that may not go, `NotFound`, `Permission` or `Unavailable` when
    /// nothing can be written beside it.
    pub(crate) fn begin(path: &Path, replaces: bool) -> Result<Self> {
        must_be_free(path, replaces)?;
        // A link stays, and what it leads to is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = folder(&path);
        let named = path.file_name().ok_or_else(|| taken("the path names no file; add a file name", &path))?;
        let prefix = format!(".{}.", named.to_string_lossy());
        let file = tempfile::Builder::new().prefix(&prefix).suffix(".part").tempfile_in(folder);
        let file = BufWriter::new(file.map_err(|error| unwritable(&path, error))?);
        let is_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        let writer =
            if is_gzip { Writer::Gzip(GzEncoder::new(file, Compression::default())) } else { Writer::Plain(file) };
        Ok(Self { path, replaces, writer })
    }

    /// Puts the file into its place once it is on the disk.
    ///
    /// # Errors
    /// As for [`Self::begin`]; nothing is left then.
    pub(crate) fn finish(self) -> Result<()> {
        let path = &self.path;
        let file = match self.writer {
            Writer::Plain(file) => file,
            Writer::Gzip(encoder) => encoder.finish().map_err(|error| unwritable(path, error))?,
        };
        let file = file.into_inner().map_err(|error| unwritable(path, error.into_error()))?;
        file.as_file().sync_all().map_err(|error| unwritable(path, error))?;
        let put = if self.replaces { file.persist(path) } else { file.persist_noclobber(path) };
        put.map_err(|error| unwritable(path, error.error))?;
        // The name is on the disk when its folder is. Not every file system takes that.
        let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Plain(file) => file.write(bytes),
            Writer::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Plain(file) => file.flush(),
            Writer::Gzip(encoder) => encoder.flush(),
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses to take the place of what is no export: a database, a folder, a device.
fn must_be_free(path: &Path, replaces: bool) -> Result<()> {
    let Ok(there) = path.metadata() else { return Ok(()) };
    if !there.is_file() {
        return Err(taken(
            "there is something that is no file; name another path, or `-` for the standard output",
            path,
        ));
    }
    if !replaces {
        return Err(taken("the file exists; name another one, or replace it with --force", path));
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SQLITE.len() as u64).read_to_end(&mut head));
    if read.is_ok() && head == SQLITE {
        return Err(taken("the file is a database, which an export never replaces; name another one", path));
    }
    Ok(())
}

fn taken(message: &str, path: &Path) -> Error {
    Error::new(ErrorKind::Conflict, message).with_context("path", path.display())
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    let (kind, message) = match error.kind() {
        io::ErrorKind::AlreadyExists => {
            (ErrorKind::Conflict, "the file exists by now; name another one, or replace it with --force")
        }
        io::ErrorKind::NotFound => (ErrorKind::NotFound, "the folder does not exist; make it first"),
        io::ErrorKind::PermissionDenied => {
            (ErrorKind::Permission, "the folder may not be written; check its permissions")
        }
        _ => (ErrorKind::Unavailable, "the file cannot be written; check the disk it goes to"),
    };
    Error::new(kind, message).with_context("path", path.display()).with_source(error)
}
