//! The command line programs' language: options, arguments, screens, exit codes.
