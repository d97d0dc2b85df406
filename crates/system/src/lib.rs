//! The functions and states of services, users, schedules of the system and its settings.
