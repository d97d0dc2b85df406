//! The operations on a tree of states, for these tests and for the fuzz target
//! (`crates/fuzz`): each gives chunks in order, or mistakes with a text.

use halite_state::{Compiler, high};

use super::Tree;

/// The SLS `s` and `t` and the top file, separated by lines of `=`.
pub fn compile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut parts = text.split("\n=\n");
    let mut part = || parts.next().unwrap_or("{}");
    let (s, t, top) = (part(), part(), part());
    let tree = Tree::new(&[("s.sls", s), ("t.sls", t), ("top.sls", top)]);
    let compiler = Compiler::new(&tree);
    let (high, mistakes) = tree.render(&["s", "t"]);
    assert!(mistakes.iter().all(|mistake| !mistake.text().is_empty()));
    if let Ok(low) = compiler.low(high.clone()) {
        // Every chunk is in the order, after what it depends on.
        let mut seen = std::collections::HashSet::new();
        for turn in &low.order {
            for dependency in low.graph.dependencies(*turn) {
                assert!(seen.contains(&dependency.on));
            }
            seen.insert(*turn);
        }
    }
    let _ = compiler.with_low_options(|options| high::compile_all(high, Vec::new(), options));
    let _ = compiler.highstate();
    let _ = compiler.lowstate();
}
