package slowlog

import "strings"

// A Key is a header value that this package knows by name. A value of a known
// key has one type, whatever a single log shows first.
type Key uint8

// The keys of an Event's Metrics, by the server and the setting that writes
// them.
const (
	KeyUnknown Key = iota

	// Percona Server, MariaDB: what the statement's plan did
	KeyQCHit          // QC_hit
	KeyFullScan       // Full_scan
	KeyFullJoin       // Full_join
	KeyTmpTable       // Tmp_table
	KeyTmpTableOnDisk // Tmp_table_on_disk
	KeyFilesort       // Filesort
	KeyFilesortOnDisk // Filesort_on_disk
	KeyMergePasses    // Merge_passes
	KeyPriorityQueue  // Priority_queue
	KeyTmpTables      // Tmp_tables
	KeyTmpDiskTables  // Tmp_disk_tables
	KeyTmpTableSizes  // Tmp_table_sizes
	KeyRowsRead       // Rows_read

	// Percona Server: InnoDB
	KeyInnoDBTrxId         // InnoDB_trx_id
	KeyInnoDBIOROps        // InnoDB_IO_r_ops
	KeyInnoDBIORBytes      // InnoDB_IO_r_bytes
	KeyInnoDBIORWait       // InnoDB_IO_r_wait
	KeyInnoDBRecLockWait   // InnoDB_rec_lock_wait
	KeyInnoDBQueueWait     // InnoDB_queue_wait
	KeyInnoDBPagesDistinct // InnoDB_pages_distinct

	// Percona Server: sampling
	KeyLogSlowRateType  // Log_slow_rate_type
	KeyLogSlowRateLimit // Log_slow_rate_limit

	// MariaDB: InnoDB (log_slow_verbosity=innodb)
	KeyPagesAccessed   // Pages_accessed
	KeyPagesRead       // Pages_read
	KeyPagesPrefetched // Pages_prefetched
	KeyPagesUpdated    // Pages_updated
	KeyOldRowsRead     // Old_rows_read
	KeyPagesReadTime   // Pages_read_time
	KeyEngineTime      // Engine_time

	// MySQL: log_slow_extra
	KeyBytesReceived        // Bytes_received
	KeyReadFirst            // Read_first
	KeyReadLast             // Read_last
	KeyReadKey              // Read_key
	KeyReadNext             // Read_next
	KeyReadPrev             // Read_prev
	KeyReadRnd              // Read_rnd
	KeyReadRndNext          // Read_rnd_next
	KeySortMergePasses      // Sort_merge_passes
	KeySortRangeCount       // Sort_range_count
	KeySortRows             // Sort_rows
	KeySortScanCount        // Sort_scan_count
	KeyCreatedTmpDiskTables // Created_tmp_disk_tables
	KeyCreatedTmpTables     // Created_tmp_tables
	KeyCountHitTmpTableSize // Count_hit_tmp_table_size
	KeyStart                // Start
	KeyEnd                  // End

	// TiDB
	KeyTxnStartTs                // Txn_start_ts
	KeyExecRetryTime             // Exec_retry_time
	KeyExecRetryCount            // Exec_retry_count
	KeyParseTime                 // Parse_time
	KeyCompileTime               // Compile_time
	KeyRewriteTime               // Rewrite_time
	KeyOptimizeTime              // Optimize_time
	KeyWaitTS                    // Wait_TS
	KeyPreprocSubqueries         // Preproc_subqueries
	KeyPreprocSubqueriesTime     // Preproc_subqueries_time
	KeyCopTime                   // Cop_time
	KeyProcessTime               // Process_time
	KeyWaitTime                  // Wait_time
	KeyBackoffTime               // Backoff_time
	KeyBackoffTotal              // Backoff_total
	KeyLockKeysTime              // LockKeys_time
	KeyRequestCount              // Request_count
	KeyTotalKeys                 // Total_keys
	KeyProcessKeys               // Process_keys
	KeyProcessedKeys             // Processed_keys
	KeyPrewriteTime              // Prewrite_time
	KeyCommitTime                // Commit_time
	KeyGetCommitTsTime           // Get_commit_ts_time
	KeyLocalLatchWaitTime        // Local_latch_wait_time
	KeyResolveLockTime           // Resolve_lock_time
	KeyWriteKeys                 // Write_keys
	KeyWriteSize                 // Write_size
	KeyPrewriteRegion            // Prewrite_region
	KeyTxnRetry                  // Txn_retry
	KeyRocksdbDeleteSkippedCount // Rocksdb_delete_skipped_count
	KeyRocksdbKeySkippedCount    // Rocksdb_key_skipped_count
	KeyRocksdbBlockCacheHitCount // Rocksdb_block_cache_hit_count
	KeyRocksdbBlockReadCount     // Rocksdb_block_read_count
	KeyRocksdbBlockReadByte      // Rocksdb_block_read_byte
	KeyNumCopTasks               // Num_cop_tasks
	KeyCopProcAvg                // Cop_proc_avg
	KeyCopProcP90                // Cop_proc_p90
	KeyCopProcMax                // Cop_proc_max
	KeyCopWaitAvg                // Cop_wait_avg
	KeyCopWaitP90                // Cop_wait_p90
	KeyCopWaitMax                // Cop_wait_max
	KeyMemMax                    // Mem_max
	KeyDiskMax                   // Disk_max
	KeyKVTotal                   // KV_total
	KeyPDTotal                   // PD_total
	KeyWriteSqlResponseTotal     // Write_sql_response_total
	KeyResultRows                // Result_rows
	KeyIsInternal                // Is_internal
	KeyPrepared                  // Prepared
	KeyPlanFromCache             // Plan_from_cache
	KeyPlanFromBinding           // Plan_from_binding
	KeyHasMoreResults            // Has_more_results
	KeySucc                      // Succ
	KeyIsExplicitTxn             // IsExplicitTxn

	// NumKeys is one more than the largest Key.
	NumKeys
)

// The keys that have a field of their own in Event. They show in Metrics only
// when their value is suspect, as KeyUnknown.
const (
	keyFieldQueryTime Key = NumKeys + 1 + iota
	keyFieldLockTime
	keyFieldRowsSent
	keyFieldRowsExamined
	keyFieldRowsAffected
	keyFieldBytesSent
	keyFieldLastErrno
	keyFieldErrno
	keyFieldKilled
	keyFieldThreadId
	keyFieldId
	keyFieldConnID
	keyFieldSchema
	keyFieldDB
	keyFieldStoredRoutine
	keyFieldPlan
	numAllKeys
)

// A Kind is the type of a metric's value.
type Kind uint8

const (
	KindText     Kind = iota // a name, a list, a transaction id
	KindCount                // a number of things
	KindBytes                // a number of bytes
	KindDuration             // a time span
	KindBool                 // Yes or No, true or false
	KindTime                 // an instant
)

func (k Kind) String() string {
	return [...]string{"text", "count", "bytes", "duration", "bool", "time"}[k]
}

type keyInfo struct {
	name   string
	kind   Kind
	millis bool // a duration in milliseconds; the others are in seconds
}

var keyInfos = [numAllKeys]keyInfo{
	KeyQCHit:                     {name: "QC_hit", kind: KindBool},
	KeyFullScan:                  {name: "Full_scan", kind: KindBool},
	KeyFullJoin:                  {name: "Full_join", kind: KindBool},
	KeyTmpTable:                  {name: "Tmp_table", kind: KindBool},
	KeyTmpTableOnDisk:            {name: "Tmp_table_on_disk", kind: KindBool},
	KeyFilesort:                  {name: "Filesort", kind: KindBool},
	KeyFilesortOnDisk:            {name: "Filesort_on_disk", kind: KindBool},
	KeyMergePasses:               {name: "Merge_passes", kind: KindCount},
	KeyPriorityQueue:             {name: "Priority_queue", kind: KindBool},
	KeyTmpTables:                 {name: "Tmp_tables", kind: KindCount},
	KeyTmpDiskTables:             {name: "Tmp_disk_tables", kind: KindCount},
	KeyTmpTableSizes:             {name: "Tmp_table_sizes", kind: KindBytes},
	KeyRowsRead:                  {name: "Rows_read", kind: KindCount},
	KeyInnoDBTrxId:               {name: "InnoDB_trx_id", kind: KindText},
	KeyInnoDBIOROps:              {name: "InnoDB_IO_r_ops", kind: KindCount},
	KeyInnoDBIORBytes:            {name: "InnoDB_IO_r_bytes", kind: KindBytes},
	KeyInnoDBIORWait:             {name: "InnoDB_IO_r_wait", kind: KindDuration},
	KeyInnoDBRecLockWait:         {name: "InnoDB_rec_lock_wait", kind: KindDuration},
	KeyInnoDBQueueWait:           {name: "InnoDB_queue_wait", kind: KindDuration},
	KeyInnoDBPagesDistinct:       {name: "InnoDB_pages_distinct", kind: KindCount},
	KeyLogSlowRateType:           {name: "Log_slow_rate_type", kind: KindText},
	KeyLogSlowRateLimit:          {name: "Log_slow_rate_limit", kind: KindCount},
	KeyPagesAccessed:             {name: "Pages_accessed", kind: KindCount},
	KeyPagesRead:                 {name: "Pages_read", kind: KindCount},
	KeyPagesPrefetched:           {name: "Pages_prefetched", kind: KindCount},
	KeyPagesUpdated:              {name: "Pages_updated", kind: KindCount},
	KeyOldRowsRead:               {name: "Old_rows_read", kind: KindCount},
	KeyPagesReadTime:             {name: "Pages_read_time", kind: KindDuration, millis: true},
	KeyEngineTime:                {name: "Engine_time", kind: KindDuration, millis: true},
	KeyBytesReceived:             {name: "Bytes_received", kind: KindBytes},
	KeyReadFirst:                 {name: "Read_first", kind: KindCount},
	KeyReadLast:                  {name: "Read_last", kind: KindCount},
	KeyReadKey:                   {name: "Read_key", kind: KindCount},
	KeyReadNext:                  {name: "Read_next", kind: KindCount},
	KeyReadPrev:                  {name: "Read_prev", kind: KindCount},
	KeyReadRnd:                   {name: "Read_rnd", kind: KindCount},
	KeyReadRndNext:               {name: "Read_rnd_next", kind: KindCount},
	KeySortMergePasses:           {name: "Sort_merge_passes", kind: KindCount},
	KeySortRangeCount:            {name: "Sort_range_count", kind: KindCount},
	KeySortRows:                  {name: "Sort_rows", kind: KindCount},
	KeySortScanCount:             {name: "Sort_scan_count", kind: KindCount},
	KeyCreatedTmpDiskTables:      {name: "Created_tmp_disk_tables", kind: KindCount},
	KeyCreatedTmpTables:          {name: "Created_tmp_tables", kind: KindCount},
	KeyCountHitTmpTableSize:      {name: "Count_hit_tmp_table_size", kind: KindCount},
	KeyStart:                     {name: "Start", kind: KindTime},
	KeyEnd:                       {name: "End", kind: KindTime},
	KeyTxnStartTs:                {name: "Txn_start_ts", kind: KindText},
	KeyExecRetryTime:             {name: "Exec_retry_time", kind: KindDuration},
	KeyExecRetryCount:            {name: "Exec_retry_count", kind: KindCount},
	KeyParseTime:                 {name: "Parse_time", kind: KindDuration},
	KeyCompileTime:               {name: "Compile_time", kind: KindDuration},
	KeyRewriteTime:               {name: "Rewrite_time", kind: KindDuration},
	KeyOptimizeTime:              {name: "Optimize_time", kind: KindDuration},
	KeyWaitTS:                    {name: "Wait_TS", kind: KindDuration},
	KeyPreprocSubqueries:         {name: "Preproc_subqueries", kind: KindCount},
	KeyPreprocSubqueriesTime:     {name: "Preproc_subqueries_time", kind: KindDuration},
	KeyCopTime:                   {name: "Cop_time", kind: KindDuration},
	KeyProcessTime:               {name: "Process_time", kind: KindDuration},
	KeyWaitTime:                  {name: "Wait_time", kind: KindDuration},
	KeyBackoffTime:               {name: "Backoff_time", kind: KindDuration},
	KeyBackoffTotal:              {name: "Backoff_total", kind: KindDuration},
	KeyLockKeysTime:              {name: "LockKeys_time", kind: KindDuration},
	KeyRequestCount:              {name: "Request_count", kind: KindCount},
	KeyTotalKeys:                 {name: "Total_keys", kind: KindCount},
	KeyProcessKeys:               {name: "Process_keys", kind: KindCount},
	KeyProcessedKeys:             {name: "Processed_keys", kind: KindCount},
	KeyPrewriteTime:              {name: "Prewrite_time", kind: KindDuration},
	KeyCommitTime:                {name: "Commit_time", kind: KindDuration},
	KeyGetCommitTsTime:           {name: "Get_commit_ts_time", kind: KindDuration},
	KeyLocalLatchWaitTime:        {name: "Local_latch_wait_time", kind: KindDuration},
	KeyResolveLockTime:           {name: "Resolve_lock_time", kind: KindDuration},
	KeyWriteKeys:                 {name: "Write_keys", kind: KindCount},
	KeyWriteSize:                 {name: "Write_size", kind: KindBytes},
	KeyPrewriteRegion:            {name: "Prewrite_region", kind: KindCount},
	KeyTxnRetry:                  {name: "Txn_retry", kind: KindCount},
	KeyRocksdbDeleteSkippedCount: {name: "Rocksdb_delete_skipped_count", kind: KindCount},
	KeyRocksdbKeySkippedCount:    {name: "Rocksdb_key_skipped_count", kind: KindCount},
	KeyRocksdbBlockCacheHitCount: {name: "Rocksdb_block_cache_hit_count", kind: KindCount},
	KeyRocksdbBlockReadCount:     {name: "Rocksdb_block_read_count", kind: KindCount},
	KeyRocksdbBlockReadByte:      {name: "Rocksdb_block_read_byte", kind: KindBytes},
	KeyNumCopTasks:               {name: "Num_cop_tasks", kind: KindCount},
	KeyCopProcAvg:                {name: "Cop_proc_avg", kind: KindDuration},
	KeyCopProcP90:                {name: "Cop_proc_p90", kind: KindDuration},
	KeyCopProcMax:                {name: "Cop_proc_max", kind: KindDuration},
	KeyCopWaitAvg:                {name: "Cop_wait_avg", kind: KindDuration},
	KeyCopWaitP90:                {name: "Cop_wait_p90", kind: KindDuration},
	KeyCopWaitMax:                {name: "Cop_wait_max", kind: KindDuration},
	KeyMemMax:                    {name: "Mem_max", kind: KindBytes},
	KeyDiskMax:                   {name: "Disk_max", kind: KindBytes},
	KeyKVTotal:                   {name: "KV_total", kind: KindDuration},
	KeyPDTotal:                   {name: "PD_total", kind: KindDuration},
	KeyWriteSqlResponseTotal:     {name: "Write_sql_response_total", kind: KindDuration},
	KeyResultRows:                {name: "Result_rows", kind: KindCount},
	KeyIsInternal:                {name: "Is_internal", kind: KindBool},
	KeyPrepared:                  {name: "Prepared", kind: KindBool},
	KeyPlanFromCache:             {name: "Plan_from_cache", kind: KindBool},
	KeyPlanFromBinding:           {name: "Plan_from_binding", kind: KindBool},
	KeyHasMoreResults:            {name: "Has_more_results", kind: KindBool},
	KeySucc:                      {name: "Succ", kind: KindBool},
	KeyIsExplicitTxn:             {name: "IsExplicitTxn", kind: KindBool},

	keyFieldQueryTime:     {name: "Query_time", kind: KindDuration},
	keyFieldLockTime:      {name: "Lock_time", kind: KindDuration},
	keyFieldRowsSent:      {name: "Rows_sent", kind: KindCount},
	keyFieldRowsExamined:  {name: "Rows_examined", kind: KindCount},
	keyFieldRowsAffected:  {name: "Rows_affected", kind: KindCount},
	keyFieldBytesSent:     {name: "Bytes_sent", kind: KindBytes},
	keyFieldLastErrno:     {name: "Last_errno", kind: KindCount},
	keyFieldErrno:         {name: "Errno", kind: KindCount},
	keyFieldKilled:        {name: "Killed", kind: KindCount},
	keyFieldThreadId:      {name: "Thread_id", kind: KindCount},
	keyFieldId:            {name: "Id", kind: KindCount},
	keyFieldConnID:        {name: "Conn_ID", kind: KindCount},
	keyFieldSchema:        {name: "Schema", kind: KindText},
	keyFieldDB:            {name: "DB", kind: KindText},
	keyFieldStoredRoutine: {name: "Stored_routine", kind: KindText},
	keyFieldPlan:          {name: "Plan", kind: KindText},
}

// String returns the name that logs write; of several spellings the commonest.
func (k Key) String() string {
	if k < NumKeys {
		return keyInfos[k].name
	}
	return ""
}

// Kind returns the type of the key's values: KindText for KeyUnknown.
func (k Key) Kind() Kind {
	if k < NumKeys {
		return keyInfos[k].kind
	}
	return KindText
}

// ParseKey returns the key that logs call name, in any case of letters
// (Percona Server writes QC_Hit, MariaDB QC_hit), or KeyUnknown.
func ParseKey(name string) Key {
	if k := lookupKey(name); k < NumKeys {
		return k
	}
	return KeyUnknown
}

// lookupKey is ParseKey over the keys with a field of their own, too.
func lookupKey(name string) Key {
	if k, ok := keysByName[name]; ok {
		return k
	}
	return keysByName[strings.ToLower(name)]
}

// keysByName holds each name as logs write it, and in lower case.
var keysByName = func() map[string]Key {
	m := make(map[string]Key, 2*len(keyInfos))
	for k, info := range keyInfos {
		if info.name != "" {
			m[info.name], m[strings.ToLower(info.name)] = Key(k), Key(k)
		}
	}
	return m
}()
