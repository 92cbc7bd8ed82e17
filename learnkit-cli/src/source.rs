//! Inputs of `learn`: files, the recordings of folders, and the standard input, compressed or not.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use learnkit::{Error, ErrorKind, Result};

/// The first bytes of a SQLite database.
pub(crate) const SQLITE: &[u8] = b"SQLite format 3\0";
/// The first bytes of gzip data.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The files of a folder that are read.
const EXTENSIONS: [&str; 3] = ["json", "jsonl", "gz"];

/// One input.
#[derive(Debug)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

impl Source {
    /// Its size in bytes as it is stored, where that is known.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::Stdin => None,
            Self::File(path) => Some(fs::metadata(path).ok()?.len()),
        }
    }
}

/// An input by the name that people know it by, or why there is none.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) source: Result<Source>,
}

impl Listed {
    fn of(path: &Path, source: Result<Source>) -> Self {
        Self { name: path.display().to_string(), source }
    }
}

/// The inputs of paths in the given order; a folder gives its recordings by name, those of folders
/// inside it too. What cannot be looked at is listed with its error.
pub(crate) fn expand(paths: &[PathBuf]) -> Vec<Listed> {
    let mut sources = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            sources.push(Listed::of(path, Ok(Source::Stdin)));
        } else if path.is_dir() {
            let before = sources.len();
            walk(path, &mut sources);
            if sources.len() == before {
                let error = Error::invalid("the folder holds no *.json, *.jsonl or *.gz; name its files one by one");
                sources.push(Listed::of(path, Err(error.with_context("path", path.display()))));
            }
        } else {
            sources.push(Listed::of(path, Ok(Source::File(path.clone()))));
        }
    }
    sources
}

fn walk(folder: &Path, sources: &mut Vec<Listed>) {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return sources.push(Listed::of(folder, Err(unreadable(folder, error)))),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link to a folder is not followed: it may lead back here.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, sources);
        } else if is_recording(&path) && path.is_file() {
            sources.push(Listed::of(&path.clone(), Ok(Source::File(path))));
        }
    }
}

fn is_recording(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    EXTENSIONS.iter().any(|own| extension.eq_ignore_ascii_case(own))
}

/// Opens a file.
///
/// # Errors
/// `NotFound`, `Permission` or `Unavailable` with the path.
pub(crate) fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| unreadable(path, error))
}

/// The text of an input: unpacked when its first bytes say gzip, whatever its name says.
///
/// # Errors
/// `Unavailable` or another kind when the first bytes cannot be read.
pub(crate) fn unpacked<'a>(mut input: impl Read + Send + 'a, name: &str) -> Result<Box<dyn BufRead + Send + 'a>> {
    let mut head = Vec::with_capacity(GZIP.len());
    let read = input.by_ref().take(GZIP.len() as u64).read_to_end(&mut head);
    read.map_err(|error| unreadable(Path::new(name), error))?;
    let is_gzip = head == GZIP;
    let whole = BufReader::new(Cursor::new(head).chain(input));
    Ok(if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(whole))) } else { Box::new(whole) })
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let (kind, message) = match error.kind() {
        std::io::ErrorKind::NotFound => (ErrorKind::NotFound, "there is no such file or folder; check the path"),
        std::io::ErrorKind::PermissionDenied => (ErrorKind::Permission, "it may not be read; check its permissions"),
        _ => (ErrorKind::Unavailable, "it cannot be read; check the path and the disk"),
    };
    Error::new(kind, message).with_context("path", path.display()).with_source(error)
}
