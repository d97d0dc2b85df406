//! YAML 1.1 as Salt reads it, with the place of every node.
