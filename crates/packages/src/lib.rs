//! The functions and states of packages, repositories and source trees.
