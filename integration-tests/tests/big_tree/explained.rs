//! The explained differences, each with its reason: short tables, and nothing else.

/// Results that differ: the run (or `*`), the beginning of the tag, the field
/// (or `*`), and why.
const RESULTS: &[(&str, &str, &str, &str)] = &[
    (
        "*",
        "file_|-patched_|",
        "/changes/stdout",
        "Salt tries the patch on a copy, and names that temporary file",
    ),
    (
        "*",
        "file_|-file.patch ",
        "/changes/stdout",
        "Salt tries the patch on a copy, and names that temporary file",
    ),
    (
        "*",
        "file_|-file.patch that does not fit",
        "/comment",
        "the same; the number of the process is in it, too",
    ),
    (
        "settled",
        "cron_|-a crontab from a file_|",
        "/comment",
        "Salt names a temporary file",
    ),
    (
        "first",
        "virtualenv_|-an environment_|",
        "/changes/new",
        "Salt reads the version of Python where Python 2 has printed it",
    ),
    (
        "settled",
        "cron_|-a crontab that is replaced_|",
        "/comment",
        "Salt names a temporary file",
    ),
    (
        "first",
        "grains_|-grain map_|",
        "/comment",
        "Salt shows its own type of maps",
    ),
    (
        "predicted",
        "mount_|-a mount that is watched_|",
        "/comment",
        "Salt fails with an exception where nothing is mounted yet",
    ),
    (
        "first",
        "file_|-full ",
        "/changes",
        "what has failed has changed nothing here",
    ),
    (
        "first",
        "file_|-read-only ",
        "/changes",
        "what has failed has changed nothing here",
    ),
    (
        "second",
        "file_|-read-only ",
        "/changes",
        "what has failed has changed nothing here",
    ),
    ("second", "file_|-full ", "*", FULL),
    ("settled", "file_|-full ", "*", FULL),
    ("second", "archive_|-full ", "*", FULL),
    ("settled", "archive_|-full ", "*", FULL),
    ("*", "file_|-no owner_|", "/comment", "ours says why"),
    (
        "*",
        "file_|-not a mode_|",
        "/comment",
        "ours says what has failed",
    ),
    (
        "*",
        "file_|-read-only copied_|",
        "/comment",
        "Salt fails with an exception",
    ),
    (
        "*",
        "file_|-a source that nobody serves_|",
        "/comment",
        "said in the words of curl",
    ),
    (
        "*",
        "file_|-a patch that does not fit_|",
        "/comment",
        "Salt tries the patch on a copy, and names that temporary file",
    ),
    (
        "*",
        "file_|-a patch that is missing_|",
        "*",
        "Salt takes it for an empty one, and names a temporary file",
    ),
    (
        "*",
        "cmd_|-too long in a script_|",
        "/changes/stdout",
        "Salt names a temporary file",
    ),
    (
        "*",
        "pkg_|-no packages_|",
        "*",
        "Salt predicts the version of one package for another, or fails with an exception",
    ),
    (
        "*",
        "pkgrepo_|-no key of a repository_|",
        "/comment",
        "Salt fails with an exception",
    ),
    (
        "*",
        "test_|-checks the pillar_|",
        "/comment",
        "Salt masks numbers in pillars, and then finds that they are none",
    ),
];

/// Why the states of the full disk are compared once only.
const FULL: &str =
    "Salt has cut short the files that it had no room for, and left pieces of others";

/// Failures of the system, as both name them: what else a comment says of one
/// is the name of a temporary file, or where in Salt's code it happened.
const FAILURES: [&str; 3] = [
    "No space left on device",
    "Read-only file system",
    "Not a directory",
];

/// States that change something each time, by the beginning of their tags.
const ALWAYS: &[(&str, &str)] = &[
    ("file_|-again ", "the case says so"),
    ("archive_|-again ", "the case says so"),
    ("ini_|-again ", "the case says so"),
    ("environ_|-", "the environment is that of the run"),
    (
        "pip_|-wheels of a list_|",
        "a list of requirements is given to pip each time",
    ),
    (
        "pkgrepo_|-a repository_|",
        "test mode does not look at the options of a line",
    ),
    (
        "file_|-prepended as a header_|",
        "test mode does not look at headers",
    ),
    (
        "cmd_|-",
        "commands run each time, unless a condition says otherwise",
    ),
    ("module_|-", "functions run each time"),
    ("pkg_|-no package to hold_|", "apt-mark is asked each time"),
    ("file_|-full ", "the disk is as full as before"),
    ("test_|-", "states that are there to report changes"),
];

/// Files that are left out, by the beginnings of their paths.
const LEFT_OUT: &[(&str, &str)] = &[
    ("/srv/", "the tree itself, and the caches of both"),
    ("/tmp", "temporary files"),
    ("/var/cache/apt/", "apt's own caches, with times in them"),
    ("/var/cache/debconf/", "written in the order of a hash"),
    ("/var/lib/apt/extended_states", "written by apt"),
    ("/var/log/", "logs, with times in them"),
    ("/etc/.pwd.lock", "an empty lock"),
];

/// Files that are left out, by the ends of their paths or parts of them.
const LEFT_OUT_PARTS: &[(&str, &str)] = &[
    (
        "/__pycache__",
        "Python's compiled modules, with times in them",
    ),
    ("/.git/logs/", "each line has its time"),
    ("/.cache", "caches of pip in somebody's home"),
    ("/.git/index", "times of files are in it"),
    ("/.git/FETCH_HEAD", "written whenever something is fetched"),
];

/// Files that differ: the path, what differs, and why.
const FILES: &[(&str, &str, &str)] = &[
    (
        "/etc/big-tree/labelled",
        "attributes",
        "ours keeps extended attributes when it replaces a file",
    ),
    (
        "/opt/variants/map",
        "content",
        "Salt writes its own type of maps: OrderedDict([('a', 1)])",
    ),
];

/// Why a field of a result may differ, if it may.
pub(crate) fn why_result(run: &str, tag: &str, path: &str) -> Option<&'static str> {
    RESULTS
        .iter()
        .find(|(of, start, field, _)| {
            (*of == "*" || *of == run)
                && tag.starts_with(start)
                && (*field == "*" || path.starts_with(field))
        })
        .map(|(.., why)| *why)
}

/// Whether both texts tell of the same failure of the system.
pub(crate) fn is_same_failure(theirs: &str, ours: &str) -> bool {
    FAILURES
        .iter()
        .any(|failure| theirs.contains(failure) && ours.contains(failure))
}

/// Why a state may report changes again, if it may.
pub(crate) fn why_always(tag: &str) -> Option<&'static str> {
    let known = ALWAYS.iter().find(|(start, _)| tag.starts_with(start));
    known.map(|(_, why)| *why)
}

/// Why a path is left out, if it is.
pub(crate) fn why_not_compared(path: &str) -> Option<&'static str> {
    let starts = LEFT_OUT.iter().find(|(start, _)| path.starts_with(start));
    let holds = LEFT_OUT_PARTS.iter().find(|(part, _)| path.contains(part));
    starts.or(holds).map(|(_, why)| *why)
}

/// Why something of a file may differ, if it may.
pub(crate) fn why_file(path: &str, what: &str) -> Option<&'static str> {
    let known = FILES
        .iter()
        .find(|(known, differs, _)| *known == path && *differs == what);
    known.map(|(.., why)| *why)
}

/// The content of a file without what is different each time.
pub(crate) fn settled(path: &str, content: &[u8]) -> Vec<u8> {
    // Salt takes the addresses of a host in the order of their hashes.
    let has_order = !path.ends_with(".dist-info/RECORD") && path != "/etc/hosts";
    // The day of the last change, in case midnight is between the two.
    let has_days = path.starts_with("/etc/shadow");
    let text = match std::str::from_utf8(content) {
        Ok(text) if !has_order || has_days => text,
        _ => return content.to_vec(),
    };
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| has_order || !line.contains(".pyc,"))
        .map(|line| match has_days {
            true => without_field(line, 2),
            false => line.to_owned(),
        })
        .collect();
    if !has_order {
        lines.sort_unstable();
    }
    lines.join("\n").into_bytes()
}

/// A line of a database of accounts without one of its fields.
fn without_field(line: &str, left_out: usize) -> String {
    let fields = line.split(':').enumerate();
    let kept: Vec<&str> = fields
        .filter(|(at, _)| *at != left_out)
        .map(|(_, field)| field)
        .collect();
    kept.join(":")
}
