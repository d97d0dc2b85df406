//! Trees of states in memory, and what they compile to.

mod any_data;
mod dot;
mod includes;
mod memory_tree;
mod mistakes;
mod order;
mod tops;
