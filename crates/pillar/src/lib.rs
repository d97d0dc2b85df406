//! Pillar: tops, SLS files and external pillars to one map per minion.
