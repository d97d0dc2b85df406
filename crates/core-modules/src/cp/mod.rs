//! `cp.*`: files from the master to the minion and back.

mod cache;
mod get;
mod lists;
mod push;
mod receive;
mod template;

use halite_call::{Call, FileClient, Function, Module, SaltUrl};

pub(super) const MODULE: Module = Module {
    name: "cp",
    functions: &[
        Function::new(
            "cp.cache_dest",
            "(url, saltenv=None)",
            cache::cache_dest,
            "Where a file would lie in the cache.",
        ),
        Function::new(
            "cp.cache_dir",
            "(path, saltenv=None, include_empty=False, include_pat=None, exclude_pat=None)",
            cache::cache_dir,
            "Caches everything below a directory of the master; patterns are globs, or\nregular expressions behind `E@`.",
        ),
        Function::new(
            "cp.cache_file",
            "(path, saltenv=None, source_hash=None, verify_ssl=True, use_etag=False)",
            cache::cache_file,
            "Caches a file of the master and returns where it lies, or False.",
        ),
        Function::new(
            "cp.cache_file_ssh",
            "(path, saltenv=None, source_hash=None, verify_ssl=True, use_etag=False)",
            cache::cache_file,
            "The same as cp.cache_file.",
        ),
        Function::new(
            "cp.cache_files",
            "(paths, saltenv=None)",
            cache::cache_files,
            "Caches several files.",
        ),
        Function::new(
            "cp.cache_local_file",
            "(path)",
            cache::cache_local_file,
            "Copies a file of this machine into the cache.",
        ),
        Function::new(
            "cp.cache_master",
            "(saltenv=None)",
            cache::cache_master,
            "Caches all files of an environment.",
        ),
        Function::new(
            "cp.envs",
            "()",
            lists::envs,
            "The environments of the master's files.",
        ),
        Function::new(
            "cp.get_dir",
            "(path, dest, saltenv=None, template=None, gzip=None, **kwargs)",
            get::get_dir,
            "Copies a directory of the master to this machine.",
        ),
        Function::new(
            "cp.get_file",
            "(path, dest, saltenv=None, makedirs=False, template=None, gzip=None, **kwargs)",
            get::get_file,
            "Copies a file of the master to this machine; makedirs makes missing\ndirectories, gzip (1 to 9) compresses on the way.",
        ),
        Function::new(
            "cp.get_file_str",
            "(path, saltenv=None)",
            get::get_file_str,
            "The content of a file of the master, or False.",
        ),
        Function::new(
            "cp.get_template",
            "(path, dest, template='jinja', saltenv=None, makedirs=False, **kwargs)",
            template::get_template,
            "Renders a template of the master and writes the text to this machine.",
        ),
        Function::new(
            "cp.get_url",
            "(path, dest='', saltenv=None, makedirs=False, source_hash=None)",
            get::get_url,
            "Gets a file from salt:// or this machine; without a destination into the\ncache, with dest=None its content is returned.",
        ),
        Function::new(
            "cp.hash_file",
            "(path, saltenv=None)",
            lists::hash_file,
            "The hash of a file of the master or of this machine.",
        ),
        Function::new(
            "cp.hash_file_ssh",
            "(path, saltenv=None)",
            lists::hash_file,
            "The same as cp.hash_file.",
        ),
        Function::new(
            "cp.is_cached",
            "(path, saltenv=None)",
            lists::is_cached,
            "Where a file lies in the cache, empty if it does not.",
        ),
        Function::new(
            "cp.list_master",
            "(saltenv=None, prefix='')",
            lists::list_master,
            "The files of the master.",
        ),
        Function::new(
            "cp.list_master_dirs",
            "(saltenv=None, prefix='')",
            lists::list_master_dirs,
            "The directories of the master.",
        ),
        Function::new(
            "cp.list_master_symlinks",
            "(saltenv=None, prefix='')",
            lists::list_master_symlinks,
            "The symbolic links of the master and where they lead.",
        ),
        Function::new(
            "cp.list_minion",
            "(saltenv=None)",
            lists::list_minion,
            "The files in the minion's cache.",
        ),
        Function::new(
            "cp.list_states",
            "(saltenv=None)",
            lists::list_states,
            "The states of the master.",
        ),
        Function::new(
            "cp.push",
            "(path, keep_symlinks=False, upload_path=None, remove_source=False)",
            push::push,
            "Sends a file to the master, which keeps it if `file_recv` is on.",
        ),
        Function::new(
            "cp.push_dir",
            "(path, glob=None, upload_path=None)",
            push::push_dir,
            "Sends the files below a directory to the master.",
        ),
        Function::new(
            "cp.recv",
            "(files, dest)",
            receive::recv,
            "Writes files that came with the call: what salt-cp uses.",
        ),
        Function::new(
            "cp.recv_chunked",
            "(dest, chunk, append=False, compressed=True, mode=None)",
            receive::recv_chunked,
            "Writes a piece of a file that came with the call: what salt-cp --chunked uses.",
        ),
        Function::new(
            "cp.stat_file",
            "(path, saltenv=None, octal=True)",
            lists::stat_file,
            "The mode of a file of the master or of this machine.",
        ),
    ],
};

/// The path and environment that an address and the parameter `saltenv` name.
fn place(call: &Call<'_>, client: &FileClient<'_>, url: &SaltUrl) -> (String, String) {
    let env = url
        .saltenv
        .clone()
        .or_else(|| call.text_opt("saltenv"))
        .unwrap_or_else(|| client.default_env());
    (url.path.clone(), env)
}

fn saltenv(call: &Call<'_>, client: &FileClient<'_>) -> String {
    call.text_opt("saltenv")
        .unwrap_or_else(|| client.default_env())
}
