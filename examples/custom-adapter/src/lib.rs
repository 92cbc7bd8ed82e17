//! An adapter in a package of its own.
