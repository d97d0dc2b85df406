//! MySQL and MariaDB, through their command line client: the execution module
//! `mysql`. Values of rows are texts, as the client gives them.

pub(crate) mod databases;
pub(crate) mod grants;
pub(crate) mod link;
pub(crate) mod users;

use halite_call::{Function, Module};

pub(crate) const MODULE: Module = Module {
    name: "mysql",
    functions: &[
        Function::new(
            "mysql.alter_db",
            "(name, character_set=None, collate=None, **connection_args)",
            databases::alter_db,
            "Changes the character set or the collation of a database.",
        ),
        Function::new(
            "mysql.db_check",
            "(name, table=None, **connection_args)",
            |call| databases::maintain(call, "CHECK"),
            "Checks a table, or all of a database.",
        ),
        Function::new(
            "mysql.db_create",
            "(name, character_set=None, collate=None, **connection_args)",
            databases::db_create,
            "Makes a database.",
        ),
        Function::new(
            "mysql.db_exists",
            "(name, **connection_args)",
            databases::db_exists,
            "Whether there is a database.",
        ),
        Function::new(
            "mysql.db_get",
            "(name, **connection_args)",
            databases::db_get,
            "The character set and the collation of a database.",
        ),
        Function::new(
            "mysql.db_list",
            "(**connection_args)",
            databases::db_list,
            "The names of the databases.",
        ),
        Function::new(
            "mysql.db_optimize",
            "(name, table=None, **connection_args)",
            |call| databases::maintain(call, "OPTIMIZE"),
            "Optimizes a table, or all of a database.",
        ),
        Function::new(
            "mysql.db_remove",
            "(name, **connection_args)",
            databases::db_remove,
            "Removes a database.",
        ),
        Function::new(
            "mysql.db_repair",
            "(name, table=None, **connection_args)",
            |call| databases::maintain(call, "REPAIR"),
            "Repairs a table, or all of a database.",
        ),
        Function::new(
            "mysql.db_tables",
            "(name, **connection_args)",
            databases::db_tables,
            "The names of the tables of a database.",
        ),
        Function::new(
            "mysql.file_query",
            "(database, file_name, **connection_args)",
            databases::file_query,
            "Carries out the statements of a file.",
        ),
        Function::new(
            "mysql.get_master_status",
            "(**connection_args)",
            |call| databases::row(call, "SHOW MASTER STATUS"),
            "Where a server that others follow is.",
        ),
        Function::new(
            "mysql.get_slave_status",
            "(**connection_args)",
            |call| databases::row(call, "SHOW SLAVE STATUS"),
            "How a server follows another.",
        ),
        Function::new(
            "mysql.grant_add",
            "(grant, database, user, host='localhost', grant_option=False, escape=True, ssl_option=False, **connection_args)",
            grants::grant_add,
            "Gives a user privileges on a database (db.*) or a table.",
        ),
        Function::new(
            "mysql.grant_exists",
            "(grant, database, user, host='localhost', grant_option=False, escape=True, **connection_args)",
            grants::grant_exists,
            "Whether a user has privileges.",
        ),
        Function::new(
            "mysql.grant_revoke",
            "(grant, database, user, host='localhost', grant_option=False, escape=True, **connection_args)",
            grants::grant_revoke,
            "Takes privileges from a user.",
        ),
        Function::new(
            "mysql.plugins_list",
            "(**connection_args)",
            |call| databases::rows(call, "SHOW PLUGINS"),
            "The plugins of the server.",
        ),
        Function::new(
            "mysql.processlist",
            "(**connection_args)",
            |call| databases::rows(call, "SHOW FULL PROCESSLIST"),
            "What the server is doing.",
        ),
        Function::new(
            "mysql.query",
            "(database, query, **connection_args)",
            databases::query,
            "What a statement returns: columns and rows.",
        ),
        Function::new(
            "mysql.quote_identifier",
            "(identifier, for_grants=False)",
            databases::quote_identifier,
            "A name as statements have it.",
        ),
        Function::new(
            "mysql.showglobal",
            "(**connection_args)",
            |call| databases::rows(call, "SHOW GLOBAL VARIABLES"),
            "The variables of the server.",
        ),
        Function::new(
            "mysql.showvariables",
            "(**connection_args)",
            |call| databases::rows(call, "SHOW VARIABLES"),
            "The variables of a connection.",
        ),
        Function::new(
            "mysql.status",
            "(**connection_args)",
            databases::status,
            "The counters of the server.",
        ),
        Function::new(
            "mysql.tokenize_grant",
            "(grant)",
            grants::tokenize_grant,
            "A line of SHOW GRANTS, taken apart.",
        ),
        Function::new(
            "mysql.user_chpass",
            "(user, host='localhost', password=None, password_hash=None, allow_passwordless=False, unix_socket=None, password_column=None, **connection_args)",
            users::user_chpass,
            "Changes or clears the password of a user.",
        ),
        Function::new(
            "mysql.user_create",
            "(user, host='localhost', password=None, password_hash=None, allow_passwordless=False, unix_socket=False, password_column=None, auth_plugin='mysql_native_password', **connection_args)",
            users::user_create,
            "Makes a user.",
        ),
        Function::new(
            "mysql.user_exists",
            "(user, host='localhost', password=None, password_hash=None, passwordless=False, unix_socket=False, password_column=None, **connection_args)",
            users::user_exists,
            "Whether there is a user, and with this password if one is given.",
        ),
        Function::new(
            "mysql.user_grants",
            "(user, host='localhost', **connection_args)",
            grants::user_grants,
            "The privileges of a user, without passwords.",
        ),
        Function::new(
            "mysql.user_info",
            "(user, host='localhost', **connection_args)",
            users::user_info,
            "All that is known of a user.",
        ),
        Function::new(
            "mysql.user_list",
            "(**connection_args)",
            users::user_list,
            "The users with their hosts.",
        ),
        Function::new(
            "mysql.user_remove",
            "(user, host='localhost', **connection_args)",
            users::user_remove,
            "Removes a user.",
        ),
        Function::new(
            "mysql.verify_login",
            "(user, password=None, **connection_args)",
            users::verify_login,
            "Whether somebody can log in.",
        ),
        Function::new(
            "mysql.version",
            "(**connection_args)",
            databases::version,
            "The version of the server.",
        ),
    ],
};
