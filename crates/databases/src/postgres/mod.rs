//! PostgreSQL, through `psql`: the execution module `postgres`.
//!
//! Names and texts that go into SQL are quoted as such, whatever is in them.

mod csv;
mod databases;
pub(crate) mod link;
mod objects;
pub(crate) mod password;
mod privileges;
mod roles;

use halite_call::{Function, Module};

pub(crate) const MODULE: Module = Module {
    name: "postgres",
    functions: &[
        Function::new(
            "postgres.available_extensions",
            "(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::available_extensions,
            "The extensions that the server offers.",
        ),
        Function::new(
            "postgres.create_extension",
            "(name, if_not_exists=None, schema=None, ext_version=None, from_version=None, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::create_extension,
            "Installs an extension, or brings it to a version or into a schema.",
        ),
        Function::new(
            "postgres.create_metadata",
            "(name, ext_version=None, schema=None, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::create_metadata,
            "What is to be done about an extension: whether it is installed, to be\nupgraded or to be moved.",
        ),
        Function::new(
            "postgres.datadir_exists",
            "(name)",
            databases::datadir_exists,
            "Whether a directory holds the data of a server.",
        ),
        Function::new(
            "postgres.datadir_init",
            "(name, auth='password', user=None, password=None, encoding='UTF8', locale=None, waldir=None, checksums=False, runas=None)",
            databases::datadir_init,
            "Makes a directory for the data of a server (initdb).",
        ),
        Function::new(
            "postgres.db_alter",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, tablespace=None, owner=None, owner_recurse=False, runas=None)",
            databases::alter,
            "Changes owner or tablespace of a database; with owner_recurse the owner of all\nthat is in it.",
        ),
        Function::new(
            "postgres.db_create",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, tablespace=None, encoding=None, lc_collate=None, lc_ctype=None, owner=None, template=None, runas=None)",
            databases::create,
            "Makes a database.",
        ),
        Function::new(
            "postgres.db_exists",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            databases::exists,
            "Whether there is a database.",
        ),
        Function::new(
            "postgres.db_list",
            "(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            databases::list,
            "The databases with their settings.",
        ),
        Function::new(
            "postgres.db_remove",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            databases::remove,
            "Ends all connections to a database and removes it.",
        ),
        Function::new(
            "postgres.drop_extension",
            "(name, if_exists=None, restrict=None, cascade=None, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::drop_extension,
            "Removes an extension.",
        ),
        Function::new(
            "postgres.get_available_extension",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::get_available_extension,
            "What the server offers of an extension.",
        ),
        Function::new(
            "postgres.get_installed_extension",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::get_installed_extension,
            "What is installed of an extension.",
        ),
        Function::new(
            "postgres.group_create",
            "(groupname, user=None, host=None, port=None, maintenance_db=None, password=None, createdb=None, createroles=None, encrypted=None, login=None, inherit=None, superuser=None, replication=None, rolepassword=None, groups=None, runas=None)",
            roles::group_create,
            "Makes a group.",
        ),
        Function::new(
            "postgres.group_remove",
            "(groupname, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            roles::group_remove,
            "Removes a group.",
        ),
        Function::new(
            "postgres.group_update",
            "(groupname, user=None, host=None, port=None, maintenance_db=None, password=None, createdb=None, createroles=None, encrypted=None, inherit=None, login=None, superuser=None, replication=None, rolepassword=None, groups=None, runas=None)",
            roles::group_update,
            "Changes a group.",
        ),
        Function::new(
            "postgres.has_privileges",
            "(name, object_name, object_type, privileges=None, grant_option=None, prepend='public', maintenance_db=None, user=None, host=None, port=None, password=None, runas=None)",
            privileges::has_privileges,
            "Whether a role has privileges on an object.",
        ),
        Function::new(
            "postgres.installed_extensions",
            "(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::installed_extensions,
            "The extensions that are installed.",
        ),
        Function::new(
            "postgres.is_available_extension",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::is_available_extension,
            "Whether the server offers an extension.",
        ),
        Function::new(
            "postgres.is_installed_extension",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::is_installed_extension,
            "Whether an extension is installed.",
        ),
        Function::new(
            "postgres.language_create",
            "(name, maintenance_db, user=None, host=None, port=None, password=None, runas=None)",
            objects::language_create,
            "Installs a language.",
        ),
        Function::new(
            "postgres.language_exists",
            "(name, maintenance_db, user=None, host=None, port=None, password=None, runas=None)",
            objects::language_exists,
            "Whether there is a language.",
        ),
        Function::new(
            "postgres.language_list",
            "(maintenance_db, user=None, host=None, port=None, password=None, runas=None)",
            objects::language_list,
            "The languages of a database.",
        ),
        Function::new(
            "postgres.language_remove",
            "(name, maintenance_db, user=None, host=None, port=None, password=None, runas=None)",
            objects::language_remove,
            "Removes a language.",
        ),
        Function::new(
            "postgres.owner_to",
            "(dbname, ownername, user=None, host=None, port=None, password=None, runas=None)",
            databases::owner_to,
            "Gives a database and all that is in it to an owner.",
        ),
        Function::new(
            "postgres.privileges_grant",
            "(name, object_name, object_type, privileges=None, grant_option=None, prepend='public', maintenance_db=None, user=None, host=None, port=None, password=None, runas=None)",
            privileges::grant,
            "Gives a role privileges on an object.",
        ),
        Function::new(
            "postgres.privileges_list",
            "(name, object_type, prepend='public', maintenance_db=None, user=None, host=None, port=None, password=None, runas=None)",
            privileges::list,
            "Who has which privileges on an object, and may pass them on.",
        ),
        Function::new(
            "postgres.privileges_revoke",
            "(name, object_name, object_type, privileges=None, prepend='public', maintenance_db=None, user=None, host=None, port=None, password=None, runas=None)",
            privileges::revoke,
            "Takes privileges on an object from a role.",
        ),
        Function::new(
            "postgres.psql_query",
            "(query, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None, write=False)",
            databases::psql_query,
            "The rows of a query, each with its fields; with write one that changes\nsomething.",
        ),
        Function::new(
            "postgres.role_get",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None, return_password=False)",
            roles::role_get,
            "What is known of a role.",
        ),
        Function::new(
            "postgres.schema_create",
            "(dbname, name, owner=None, user=None, db_user=None, db_password=None, db_host=None, db_port=None)",
            objects::schema_create,
            "Makes a schema.",
        ),
        Function::new(
            "postgres.schema_exists",
            "(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None)",
            objects::schema_exists,
            "Whether there is a schema.",
        ),
        Function::new(
            "postgres.schema_get",
            "(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None)",
            objects::schema_get,
            "What is known of a schema.",
        ),
        Function::new(
            "postgres.schema_list",
            "(dbname, user=None, db_user=None, db_password=None, db_host=None, db_port=None)",
            objects::schema_list,
            "The schemas of a database.",
        ),
        Function::new(
            "postgres.schema_remove",
            "(dbname, name, user=None, db_user=None, db_password=None, db_host=None, db_port=None)",
            objects::schema_remove,
            "Removes a schema.",
        ),
        Function::new(
            "postgres.tablespace_alter",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, new_name=None, new_owner=None, set_option=None, reset_option=None, runas=None)",
            objects::tablespace_alter,
            "Changes name, owner or options of a tablespace.",
        ),
        Function::new(
            "postgres.tablespace_create",
            "(name, location, options=None, owner=None, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::tablespace_create,
            "Makes a tablespace.",
        ),
        Function::new(
            "postgres.tablespace_exists",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::tablespace_exists,
            "Whether there is a tablespace.",
        ),
        Function::new(
            "postgres.tablespace_list",
            "(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::tablespace_list,
            "The tablespaces with their settings.",
        ),
        Function::new(
            "postgres.tablespace_remove",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            objects::tablespace_remove,
            "Removes a tablespace.",
        ),
        Function::new(
            "postgres.user_create",
            "(username, user=None, host=None, port=None, maintenance_db=None, password=None, createdb=None, createroles=None, inherit=None, login=None, connlimit=None, encrypted=None, superuser=None, replication=None, rolepassword=None, valid_until=None, groups=None, runas=None)",
            roles::user_create,
            "Makes a user.",
        ),
        Function::new(
            "postgres.user_exists",
            "(name, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            roles::user_exists,
            "Whether there is a user.",
        ),
        Function::new(
            "postgres.user_list",
            "(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None, return_password=False)",
            roles::user_list,
            "The roles with what they may; with return_password what is kept of their\npasswords.",
        ),
        Function::new(
            "postgres.user_remove",
            "(username, user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            roles::user_remove,
            "Removes a user.",
        ),
        Function::new(
            "postgres.user_update",
            "(username, user=None, host=None, port=None, maintenance_db=None, password=None, createdb=None, createroles=None, encrypted=None, superuser=None, inherit=None, login=None, connlimit=None, replication=None, rolepassword=None, valid_until=None, groups=None, runas=None)",
            roles::user_update,
            "Changes a user.",
        ),
        Function::new(
            "postgres.version",
            "(user=None, host=None, port=None, maintenance_db=None, password=None, runas=None)",
            databases::version,
            "The version of the server.",
        ),
    ],
};
