//! The state module `file`.

mod absent;
mod accumulated;
mod below;
mod cached;
mod check_cmd;
mod common;
mod contents;
mod copy;
mod decode;
mod directory;
mod edits;
mod hardlink;
mod keyvalue;
mod link;
mod managed;
mod nodes;
mod recurse;
mod retention;
mod selinux;
mod serialize;
mod symlink;
mod texts;
mod tidy;
mod walk;

pub(crate) use common::unchecked_signature;
use halite_call::{Function, Module};

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
            "file.append",
            "(name, text=None, makedirs=False, source=None, source_hash=None, template='jinja', sources=None, source_hashes=None, defaults=None, context=None, ignore_whitespace=True, show_changes=True)",
            texts::append,
            "The texts are in the file; those that are not are added at its end.",
        ),
        Function::new(
            "file.blockreplace",
            "(name, marker_start='#-- start managed zone --', marker_end='#-- end managed zone --', source=None, source_hash=None, template='jinja', sources=None, source_hashes=None, defaults=None, context=None, content='', append_if_not_found=False, prepend_if_not_found=False, backup='.bak', show_changes=True, append_newline=None, insert_before_match=None, insert_after_match=None)",
            edits::blockreplace,
            "Between two marks in the file stands this.",
        ),
        Function::new(
            "file.cached",
            "(name, source_hash='', source_hash_name=None, skip_verify=False, saltenv='base', use_etag=False, source_hash_sig=None, signed_by_any=None, signed_by_all=None, keyring=None, gnupghome=None, sig_backend='gpg')",
            cached::cached,
            "The file is in the minion's cache.",
        ),
        Function::new(
            "file.comment",
            "(name, regex, char='#', backup='.bak', ignore_missing=False)",
            edits::comment,
            "The lines that match are commented.",
        ),
        Function::new(
            "file.copy",
            "(name, source, force=False, makedirs=False, preserve=False, user=None, group=None, mode=None, dir_mode=None, subdir=False, **kwargs)",
            copy::copy,
            "The file is a copy of another, made if it is not there or with force.",
        ),
        Function::new(
            "file.decode",
            "(name, encoded_data=None, contents_pillar=None, encoding_type='base64', checksum='md5')",
            decode::decode,
            "The file holds what the text in base64 says.",
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
            hardlink::hardlink,
            "The file is another name of the target.",
        ),
        Function::new(
            "file.keyvalue",
            "(name, key=None, value=None, key_values=None, separator='=', append_if_not_found=False, prepend_if_not_found=False, search_only=False, show_changes=True, ignore_if_missing=False, count=1, uncomment=None, key_ignore_case=False, value_ignore_case=False, create_if_missing=False, prune=False)",
            keyvalue::keyvalue,
            "The settings of the file, one `key=value` a line, are these.",
        ),
        Function::new(
            "file.line",
            "(name, content=None, match=None, mode=None, location=None, before=None, after=None, show_changes=True, backup=False, quiet=False, indent=True, create=False, user=None, group=None, file_mode=None)",
            edits::line,
            "One line is in the file, or is not, or is another: mode is ensure, replace,\ndelete or insert.",
        ),
        Function::new(
            "file.managed",
            "(name, source=None, source_hash='', source_hash_name=None, keep_source=True, user=None, group=None, mode=None, attrs=None, template=None, makedirs=False, dir_mode=None, context=None, replace=True, defaults=None, backup='', show_changes=True, create=True, contents=None, tmp_dir=None, tmp_ext='', contents_pillar=None, contents_grains=None, contents_newline=True, contents_delimiter=':', encoding=None, encoding_errors='strict', allow_empty=True, follow_symlinks=True, check_cmd=None, skip_verify=False, selinux=None, win_owner=None, win_perms=None, win_deny_perms=None, win_inheritance=True, win_perms_reset=False, verify_ssl=True, use_etag=False, signature=None, source_hash_sig=None, signed_by_any=None, signed_by_all=None, keyring=None, gnupghome=None, ignore_ordering=False, ignore_whitespace=False, ignore_comment_characters=None, new_file_diff=False, sig_backend='gpg', **kwargs)",
            selinux::managed,
            "The file has this content, owner and mode. The content comes from a source\n(salt://, a path, http://, a list of them), from contents, contents_pillar or\ncontents_grains, and may be a template.",
        ),
        Function::new(
            "file.missing",
            "(name, **kwargs)",
            absent::missing,
            "The path does not exist; it is not removed.",
        ),
        Function::new(
            "file.mknod",
            "(name, ntype, major=0, minor=0, user=None, group=None, mode='0600')",
            nodes::mknod,
            "There is a device or pipe like this.",
        ),
        Function::new(
            "file.mod_beacon",
            "(name, **kwargs)",
            nodes::mod_beacon,
            "Has changes of the file reported by a beacon.",
        ),
        Function::new(
            "file.mod_run_check_cmd",
            "(cmd, filename, **kwargs)",
            check_cmd::mod_run_check_cmd,
            "Runs a command that judges a file before it is put in place.",
        ),
        Function::new(
            "file.not_cached",
            "(name, saltenv='base')",
            cached::not_cached,
            "The file is not in the minion's cache.",
        ),
        Function::new(
            "file.patch",
            "(name, source=None, source_hash=None, source_hash_name=None, skip_verify=False, template=None, context=None, defaults=None, options='', reject_file=None, strip=None, saltenv=None, **kwargs)",
            decode::patch,
            "The patch is applied to the file or directory.",
        ),
        Function::new(
            "file.prepend",
            "(name, text=None, makedirs=False, source=None, source_hash=None, template='jinja', sources=None, source_hashes=None, defaults=None, context=None, header=None, show_changes=True)",
            texts::prepend,
            "The texts are in the file; those that are not are put at its start.",
        ),
        Function::new(
            "file.pruned",
            "(name, recurse=False, ignore_errors=False, older_than=None)",
            tidy::pruned,
            "The directory is gone if it was empty; with recurse empty ones below it too.",
        ),
        Function::new(
            "file.recurse",
            "(name, source, keep_source=True, clean=False, require=None, user=None, group=None, dir_mode=None, file_mode=None, sym_mode=None, template=None, context=None, replace=True, defaults=None, include_empty=False, backup='', include_pat=None, exclude_pat=None, maxdepth=None, keep_symlinks=False, force_symlinks=False, win_owner=None, win_perms=None, win_deny_perms=None, win_inheritance=True, merge=False, **kwargs)",
            recurse::recurse,
            "The directory holds what a directory of the master holds; with clean nothing\nelse.",
        ),
        Function::new(
            "file.rename",
            "(name, source, force=False, makedirs=False, **kwargs)",
            copy::rename,
            "The file has been moved here.",
        ),
        Function::new(
            "file.replace",
            "(name, pattern, repl, count=0, flags=8, bufsize=1, append_if_not_found=False, prepend_if_not_found=False, not_found_content=None, backup='.bak', show_changes=True, ignore_if_missing=False, backslash_literal=False, encoding=None)",
            edits::replace,
            "What the regular expression matches in the file is replaced.",
        ),
        Function::new(
            "file.retention_schedule",
            "(name, retain, strptime_format=None, timezone=None)",
            retention::retention_schedule,
            "Of the files in the directory only those stay that the schedule keeps.",
        ),
        Function::new(
            "file.serialize",
            "(name, dataset=None, dataset_pillar=None, user=None, group=None, mode=None, backup='', makedirs=False, show_changes=True, create=True, merge_if_exists=False, encoding=None, encoding_errors='strict', serializer=None, serializer_opts=None, deserializer_opts=None, check_cmd=None, tmp_dir=None, tmp_ext='', **kwargs)",
            serialize::serialize,
            "The file holds the data as json, yaml, msgpack or configparser writes it.",
        ),
        Function::new(
            "file.shortcut",
            "(name, target, arguments=None, working_dir=None, description=None, icon_location=None, force=False, backupname=None, makedirs=False, user=None, **kwargs)",
            nodes::shortcut,
            "There is a shortcut; only on Windows.",
        ),
        Function::new(
            "file.symlink",
            "(name, target, force=False, backupname=None, makedirs=False, user=None, group=None, mode=None, win_owner=None, win_perms=None, win_deny_perms=None, win_inheritance=None, atomic=False, disallow_copy_and_unlink=False, inherit_user_and_group=False, follow_symlinks=True, **kwargs)",
            symlink::symlink,
            "The path is a link to the target.",
        ),
        Function::new(
            "file.tidied",
            "(name, age=0, matches=None, rmdirs=False, size=0, exclude=None, full_path_match=False, followlinks=False, time_comparison='atime', age_size_logical_operator='OR', age_size_only=None, rmlinks=True, **kwargs)",
            tidy::tidied,
            "Old or large files that match are gone from the directory.",
        ),
        Function::new(
            "file.touch",
            "(name, atime=None, mtime=None, makedirs=False)",
            copy::touch,
            "There is such a file; with atime and mtime it has these times.",
        ),
        Function::new(
            "file.uncomment",
            "(name, regex, char='#', backup='.bak')",
            edits::uncomment,
            "The lines that match are not commented.",
        ),
    ],
};
