//! The state module `file`.

mod absent;
mod accumulated;
mod check_cmd;
mod common;
mod contents;
mod directory;
mod managed;
mod symlink;
mod walk;

use halite_modules::{Function, Module};
pub(crate) use symlink::link_in_place;

/// The state module.
pub(crate) const MODULE: Module = Module {
    name: "file",
    functions: &[
        Function::new(
            "file.absent",
            "(name, **kwargs)",
            absent::absent,
            "There is no such file, link or directory.",
        ),
        Function::new(
            "file.accumulated",
            "(name, filename, text, **kwargs)",
            accumulated::accumulated,
            "Puts text aside for a file that another state of the run manages.",
        ),
        Function::new(
            "file.directory",
            "(name, user=None, group=None, recurse=None, max_depth=None, dir_mode=None, file_mode=None, makedirs=False, clean=False, require=None, exclude_pat=None, follow_symlinks=False, force=False, backupname=None, allow_symlink=True, children_only=False, win_owner=None, win_perms=None, win_deny_perms=None, win_inheritance=True, win_perms_reset=False, **kwargs)",
            directory::directory,
            "There is a directory with this owner and mode; with recurse, what is in it\nhas them too, with clean only what other states put there is in it.",
        ),
        Function::new(
            "file.exists",
            "(name, **kwargs)",
            absent::exists,
            "The path exists; it is not made.",
        ),
        Function::new(
            "file.hardlink",
            "(name, target, force=False, makedirs=False, user=None, group=None, dir_mode=None, **kwargs)",
            symlink::hardlink,
            "The file is another name of the target.",
        ),
        Function::new(
            "file.managed",
            "(name, source=None, source_hash='', source_hash_name=None, keep_source=True, user=None, group=None, mode=None, attrs=None, template=None, makedirs=False, dir_mode=None, context=None, replace=True, defaults=None, backup='', show_changes=True, create=True, contents=None, tmp_dir=None, tmp_ext='', contents_pillar=None, contents_grains=None, contents_newline=True, contents_delimiter=':', encoding=None, encoding_errors='strict', allow_empty=True, follow_symlinks=True, check_cmd=None, skip_verify=False, selinux=None, win_owner=None, win_perms=None, win_deny_perms=None, win_inheritance=True, win_perms_reset=False, verify_ssl=True, use_etag=False, signature=None, source_hash_sig=None, signed_by_any=None, signed_by_all=None, keyring=None, gnupghome=None, ignore_ordering=False, ignore_whitespace=False, ignore_comment_characters=None, new_file_diff=False, sig_backend='gpg', **kwargs)",
            managed::managed,
            "The file has this content, owner and mode. The content comes from a source\n(salt://, a path, http://, a list of them), from contents, contents_pillar or\ncontents_grains, and may be a template.",
        ),
        Function::new(
            "file.missing",
            "(name, **kwargs)",
            absent::missing,
            "The path does not exist; it is not removed.",
        ),
        Function::new(
            "file.mod_run_check_cmd",
            "(cmd, filename, **kwargs)",
            check_cmd::mod_run_check_cmd,
            "Runs a command that judges a file before it is put in place.",
        ),
        Function::new(
            "file.symlink",
            "(name, target, force=False, backupname=None, makedirs=False, user=None, group=None, mode=None, win_owner=None, win_perms=None, win_deny_perms=None, win_inheritance=None, atomic=False, disallow_copy_and_unlink=False, inherit_user_and_group=False, follow_symlinks=True, **kwargs)",
            symlink::symlink,
            "The path is a link to the target.",
        ),
    ],
};
