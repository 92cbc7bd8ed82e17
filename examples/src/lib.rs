//! The examples stand beside this file.
