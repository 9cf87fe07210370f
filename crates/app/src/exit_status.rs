//! Exit statuses of the command, as in sysexits.h.

/// The command line or the arguments of a program are wrong.
pub(crate) const USAGE: u8 = 64;
/// The program does not compile.
pub(crate) const DATA: u8 = 65;
/// A named file cannot be read.
pub(crate) const NO_INPUT: u8 = 66;
/// No server listens at the given address.
pub(crate) const UNAVAILABLE: u8 = 69;
/// The program raised an unhandled error.
pub(crate) const SOFTWARE: u8 = 70;
/// A file could not be written.
pub(crate) const CANNOT_CREATE: u8 = 73;
