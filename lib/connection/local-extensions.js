'use strict';

// Extensions of which it is known that they bring no second server into a transaction. A closed list, as whatever is not
// on it may do so: what PostgreSQL itself ships (its documentation, "Additional Supplied Modules and Extensions" and
// "Procedural Languages", versions 10 to 18), and those that the large hosts offer, by their own documentation. Not on
// it, on purpose: citus and other kinds of sharding, dblink and pglogical's kin, which commit on other servers, and
// whatever makes a server multi-master. Used by locality.js.

const SHIPPED = `
  adminpack amcheck autoinc bloom bool_plperl bool_plperlu btree_gin btree_gist chkpass citext cube dict_int dict_xsyn
  earthdistance file_fdw fuzzystrmatch hstore hstore_plperl hstore_plperlu hstore_plpython2u hstore_plpython3u
  hstore_plpythonu insert_username intagg intarray isn jsonb_plperl jsonb_plperlu jsonb_plpython2u jsonb_plpython3u
  jsonb_plpythonu lo ltree ltree_plpython2u ltree_plpython3u ltree_plpythonu moddatetime old_snapshot pageinspect
  pg_buffercache pg_freespacemap pg_logicalinspect pg_overexplain pg_prewarm pg_stat_statements pg_surgery pg_trgm
  pg_visibility pg_walinspect pgcrypto pgrowlocks pgstattuple plperl plperlu plpgsql plpython2u plpython3u plpythonu
  pltcl pltclu postgres_fdw refint seg sslinfo tablefunc tcn timetravel tsm_system_rows tsm_system_time unaccent
  uuid-ossp xml2`;

const WIDELY_USED = `
  address_standardizer address_standardizer_data_us age h3 h3_postgis hll hypopg ip4r neon orafce pg_bigm pg_cron
  pg_graphql pg_hashids pg_hint_plan pg_ivm pg_jsonschema pg_partman pg_qualstats pg_repack pg_similarity pg_squeeze
  pg_stat_kcache pg_stat_monitor pg_tle pg_uuidv7 pg_wait_sampling pgaudit pgjwt pgmq pgroonga pgrouting pgsodium pgtap
  plcoffee plls plpgsql_check plv8 pointcloud postgis postgis_raster postgis_sfcgal postgis_tiger_geocoder
  postgis_topology prefix rum semver set_user supabase_vault tdigest timescaledb timescaledb_toolkit vchord vector
  vectorscale`;

const LOCAL_EXTENSIONS = new Set(`${SHIPPED} ${WIDELY_USED}`.trim().split(/\s+/));

module.exports = { LOCAL_EXTENSIONS };
