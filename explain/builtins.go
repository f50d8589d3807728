package explain

import "strings"

// builtins are the functions that belong to the servers and that EXPLAIN may
// run without harm: they depend on their arguments and the session alone, wait
// for nothing, and change nothing that outlives the statement. A name that is
// not here may be a stored or loadable function. A name that the server at hand
// does not have yet, or no longer, may be one too; so each has its versions, as
// major*10000+minor*100+patch.
//
// Sources: the chapter "Built-In Function and Operator Reference" of the MySQL
// manuals 5.6 to 9.x; information_schema.SQL_FUNCTIONS and the chapter "Built-in
// Functions" of MariaDB; both compared with a MySQL 9.7 and a MariaDB 10.11 by
// asking each whether it knows the name (TestBuiltinsBelongToTheServer).
var builtins = []struct {
	mysql   int // first version
	gone    int // first version without it; 0 if it is still there
	mariadb int
	names   string
}{
	{always, 0, always, `
		abs acos adddate addtime aes_decrypt aes_encrypt ascii asin atan atan2 avg bin bit_and bit_count
		bit_length bit_or bit_xor cast ceil ceiling char char_length character_length charset coalesce
		coercibility collation compress concat concat_ws connection_id conv convert convert_tz cos cot count
		crc32 curdate current_date current_time current_timestamp current_user curtime database date
		date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear default degrees
		elt exp export_set extract extractvalue field find_in_set floor format found_rows from_base64
		from_days from_unixtime get_format greatest group_concat hex hour if ifnull inet6_aton inet6_ntoa
		inet_aton inet_ntoa insert instr interval is_free_lock is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6
		is_used_lock isnull last_day last_insert_id lcase least left length ln localtime localtimestamp
		locate log log10 log2 lower lpad ltrim make_set makedate maketime match max mbrcontains mbrdisjoint
		mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin microsecond mid min minute mod month
		monthname name_const now nullif oct octet_length ord period_add period_diff pi position pow power
		quarter quote radians rand repeat replace reverse right round row row_count rpad rtrim schema
		sec_to_time second session_user sha2 sign sin soundex space sqrt st_area st_asbinary st_astext
		st_aswkb st_aswkt st_buffer st_centroid st_contains st_convexhull st_crosses st_difference
		st_dimension st_disjoint st_distance st_endpoint st_envelope st_equals st_exteriorring
		st_geomcollfromtext st_geomcollfromwkb st_geometrycollectionfromtext st_geometrycollectionfromwkb
		st_geometryfromtext st_geometryfromwkb st_geometryn st_geometrytype st_geomfromtext st_geomfromwkb
		st_interiorringn st_intersection st_intersects st_isclosed st_isempty st_issimple st_length
		st_linefromtext st_linefromwkb st_linestringfromtext st_linestringfromwkb st_mlinefromtext
		st_mlinefromwkb st_mpointfromtext st_mpointfromwkb st_mpolyfromtext st_mpolyfromwkb
		st_multilinestringfromtext st_multipointfromtext st_multipolygonfromtext st_numgeometries
		st_numinteriorrings st_numpoints st_overlaps st_pointfromtext st_pointfromwkb st_pointn
		st_polyfromtext st_polyfromwkb st_polygonfromtext st_polygonfromwkb st_srid st_startpoint
		st_symdifference st_touches st_union st_within st_x st_y std stddev stddev_pop stddev_samp
		str_to_date strcmp subdate substr substring substring_index subtime sum sysdate system_user tan time
		time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_days to_seconds
		trim truncate ucase uncompress uncompressed_length unhex unix_timestamp updatexml upper user
		utc_date utc_time utc_timestamp uuid uuid_short values var_pop var_samp variance version week
		weekday weekofyear weight_string year yearweek`},
	{80001, 0, never, `
		of`},
	{80002, 0, 100200, `
		over`},
	{80003, 0, 100300, `
		except`},
	{80014, 0, never, `
		lateral`},
	{80031, 0, 100300, `
		intersect`},
	{always, 80000, always, `
		area asbinary astext aswkb aswkt centroid contains crosses decode des_decrypt des_encrypt dimension
		disjoint encode encrypt endpoint envelope equals exteriorring geomcollfromtext geometryn
		geometrytype geomfromtext geomfromwkb glength interiorringn intersects isclosed isempty issimple
		linefromtext numgeometries numinteriorrings numpoints old_password overlaps password pointfromtext
		pointn polyfromtext polygonfromtext srid startpoint touches within x y`},
	{always, 90600, always, `
		md5 sha sha1`},
	{always, 0, never, `
		geometrycollection linestring mbrcoveredby mbrcovers multilinestring multipoint multipolygon point
		polygon validate_password_strength`},
	{50605, 0, never, `
		gtid_subset gtid_subtract`},
	{50706, 0, 100204, `
		st_asgeojson st_geomfromgeojson`},
	{50706, 0, 100500, `
		st_distance_sphere`},
	{50706, 0, 101000, `
		random_bytes`},
	{50706, 0, never, `
		any_value st_buffer_strategy st_geohash st_isvalid st_latfromgeohash st_longfromgeohash
		st_makeenvelope st_pointfromgeohash st_simplify st_validate`},
	{50708, 0, 100203, `
		json_array json_array_append json_array_insert json_contains json_contains_path json_depth
		json_extract json_insert json_keys json_length json_merge json_object json_quote json_remove
		json_replace json_search json_set json_type json_unquote json_valid`},
	{50722, 0, 100204, `
		json_merge_patch json_merge_preserve`},
	{50722, 0, 100500, `
		json_arrayagg json_objectagg`},
	{50722, 0, 101003, `
		json_pretty`},
	{50722, 0, never, `
		json_storage_size`},
	{80000, 0, 100005, `
		current_role`},
	{80000, 0, never, `
		bin_to_uuid grouping icu_version is_uuid json_storage_free roles_graphml statement_digest
		statement_digest_text uuid_to_bin`},
	{80002, 0, 100200, `
		cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number`},
	{80004, 0, 100005, `
		regexp_instr regexp_replace regexp_substr`},
	{80004, 0, never, `
		regexp_like`},
	{80011, 0, never, `
		geomcollection`},
	{80012, 0, never, `
		st_latitude st_longitude st_swapxy st_transform`},
	{80016, 0, never, `
		format_bytes format_pico_time ps_current_thread_id ps_thread_id`},
	{80017, 0, 100900, `
		json_overlaps`},
	{80017, 0, 110100, `
		json_schema_valid`},
	{80017, 0, never, `
		json_schema_validation_report`},
	{80021, 0, 100203, `
		json_value`},
	{80024, 0, never, `
		st_collect st_frechetdistance st_hausdorffdistance st_lineinterpolatepoint st_lineinterpolatepoints
		st_pointatdistance`},
	{90000, 0, never, `
		cube from_vector rollup string_to_vector to_vector vector_dim vector_to_string`},
	{90300, 0, never, `
		etag`},
	{never, 0, always, `
		binlog_gtid_pos column_add column_check column_create column_delete column_exists column_get
		column_json column_list decode_histogram`},
	{never, 0, 100101, `
		st_boundary st_isring st_pointonsurface st_relate`},
	{never, 0, 100203, `
		json_compact json_detailed json_exists json_loose json_query`},
	{never, 0, 100300, `
		lastval`},
	{never, 0, 100301, `
		chr lengthb`},
	{never, 0, 100303, `
		median nvl nvl2 percentile_cont percentile_disc`},
	{never, 0, 100600, `
		add_months to_char`},
	{never, 0, 100601, `
		sys_guid`},
	{never, 0, 100700, `
		json_equals json_normalize natural_sort_key sformat`},
	{never, 0, 100800, `
		crc32c`},
	{never, 0, 110200, `
		json_array_intersect json_key_value json_object_filter_keys json_object_to_array`},
	{never, 0, 110700, `
		uuid_v4 uuid_v7 vec_distance vec_distance_cosine vec_distance_euclidean vec_fromtext vec_totext`},
}

const (
	always = 0
	never  = 1 << 30
)

// effects are built-in functions that EXPLAIN must not run, and why.
var effects = map[string]string{
	"benchmark":                         "takes as long as its first argument says",
	"get_lock":                          "takes a named lock and waits for it",
	"last_insert_id":                    "sets the session's last insert id",
	"load_file":                         "reads a file of the server",
	"master_gtid_wait":                  "waits for replication",
	"master_pos_wait":                   "waits for replication",
	"nextval":                           "advances a sequence",
	"release_all_locks":                 "gives up the session's named locks",
	"release_lock":                      "gives up a named lock",
	"setval":                            "sets a sequence",
	"sleep":                             "sleeps",
	"source_pos_wait":                   "waits for replication",
	"wait_for_executed_gtid_set":        "waits for replication",
	"wait_until_sql_thread_after_gtids": "waits for replication",
	"wsrep_sync_wait_upto_gtid":         "waits for replication",
}

// spaced are the built-in functions whose name must stand right before its
// parenthesis; with a space between, the servers look for a stored function
// (the manual's chapter "Function Name Parsing and Resolution").
var spaced = wordSet(`adddate bit_and bit_or bit_xor cast count curdate curtime date_add date_sub extract
	group_concat json_arrayagg json_objectagg max mid min now position session_user st_collect std stddev stddev_pop stddev_samp
	subdate substr substring sum sysdate system_user trim var_pop var_samp variance`)

// grammar are the words that can stand before a parenthesis without calling
// anything, because every server's grammar reserves them. Those that newer
// servers alone reserve stand among the builtins.
var grammar = wordSet(`all and as between binary by case cross distinct distinctrow div else exists force from
	group having ignore in index inner is join key left like limit natural not on or order
	partition regexp return right rlike select separator set straight_join then union use using values when
	where with xor`)

// typeNames are types that take a length in CAST, CONVERT and JSON_TABLE.
var typeNames = wordSet(`bigint bit blob char character datetime dec decimal double enum fixed float int integer
	mediumint national nchar numeric nvarchar real set smallint text time timestamp tinyint varbinary varchar vector
	signed unsigned year`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

type versions struct{ mysql, gone, mariadb int }

var builtinVersions = func() map[string]versions {
	m := make(map[string]versions)
	for _, group := range builtins {
		for name := range strings.FieldsSeq(group.names) {
			m[name] = versions{group.mysql, group.gone, group.mariadb}
		}
	}
	return m
}()

// builtin reports whether the lower-case name is a harmless function of the
// server's own. For an unknown server it must be one on MySQL and on MariaDB.
func (s Server) builtin(name string) bool {
	v, ok := builtinVersions[name]
	if !ok {
		return false
	}
	n := s.Version[0]*10000 + s.Version[1]*100 + s.Version[2]
	switch s.Product {
	case MariaDB:
		return v.mariadb <= n
	case MySQL:
		return v.mysql <= n && (v.gone == 0 || n < v.gone)
	case TiDB:
		return v.mysql != never
	}
	return v.mysql != never && v.mariadb != never && v.gone < 90000
}
