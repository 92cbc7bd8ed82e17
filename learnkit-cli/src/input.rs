//! The input of `import`: a file that can be read twice.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use learnkit::backends::sqlite::OlderDatabase;
use learnkit::portable::Import;
use learnkit::{Error, ErrorKind, Result};

use crate::source::{SQLITE, open, unpacked};

/// A file, or what came through a pipe in a file of its own.
#[derive(Debug)]
pub(crate) struct Input {
    /// What people know it by.
    pub(crate) name: String,
    /// Where it is, for a database, which SQLite opens itself.
    path: PathBuf,
    file: File,
}

impl Input {
    /// Opens a file; `-` is the standard input. A pipe is read to its end first, so that a slow one does
    /// not keep others from writing to the store.
    ///
    /// # Errors
    /// `NotFound`, `Permission` or `Unavailable` when it cannot be read.
    pub(crate) fn open(path: &Path, stdin: &mut impl Read) -> Result<Self> {
        let file = if path.as_os_str() == "-" {
            copied(stdin)?
        } else {
            let mut file = open(path)?;
            if file.metadata().is_ok_and(|there| there.is_file() || there.is_dir()) { file } else { copied(&mut file)? }
        };
        Ok(Self { name: path.display().to_string(), path: path.to_owned(), file })
    }

    /// Its size in bytes as it is stored, where that is known.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(self.file.metadata().ok()?.len())
    }

    /// Reads it from the start.
    ///
    /// # Errors
    /// As for [`Import::read`], with the path.
    pub(crate) fn read(&self, progress: &ProgressBar) -> Result<Import> {
        progress.set_position(0);
        self.reader(progress).map_err(|error| error.with_context("path", &self.name))
    }

    fn reader(&self, progress: &ProgressBar) -> Result<Import> {
        let mut file = self.file.try_clone().and_then(|mut file| file.rewind().map(|()| file)).map_err(unreadable)?;
        let mut head = Vec::new();
        file.by_ref().take(SQLITE.len() as u64).read_to_end(&mut head).map_err(unreadable)?;
        if head == SQLITE {
            return Ok(Import::of_older_rows(OlderDatabase::open(&self.path)?));
        }
        file.rewind().map_err(unreadable)?;
        Import::read(unpacked(progress.wrap_read(file), &self.name)?)
    }
}

/// The rest of a stream in a file that has no name and ends with this process.
fn copied(from: &mut impl Read) -> Result<File> {
    let mut copy = || -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        io::copy(from, &mut file)?;
        Ok(file)
    };
    copy().map_err(|error| {
        let message = "the input cannot be kept in a temporary file; check the space where those are made";
        Error::new(ErrorKind::Unavailable, message).with_source(error)
    })
}

fn unreadable(error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, "it cannot be read; check the path and the disk").with_source(error)
}
