//! File roots: what a master serves to its minions.
