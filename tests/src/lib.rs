//! The tests stand in `tests/`.
