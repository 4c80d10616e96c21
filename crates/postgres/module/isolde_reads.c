/*
 * isolde_reads: a statement tells which rows it has read.
 *
 * A module for sessions of PostgreSQL 13 to 18. In a session that has loaded it,
 *
 *     LOAD '$libdir/plugins/isolde_reads';
 *
 * every statement, also one inside of a function or behind a foreign key, sends a message of level INFO for each table that
 * its plan scans, when it has run or failed:
 *
 *     SELECT sum(total) FROM orders WHERE customer = 7
 *       INFO     isolde-read 16385 r 1        the table's oid, how it was read, the columns that decided which rows
 *       DETAIL   ("12","15")                  the primary keys of the rows, one after the other
 *
 * "Read" means: the row has passed the conditions that the plan puts to this table alone, so that the rest of the statement
 * has seen it. A row that did not pass is kept out by the columns that these conditions ask about: as long as nobody changes
 * these, it stays out. That is all that somebody needs who wants to know which changes matter to the statement.
 *
 *     r, l            the table is read; its rows are locked or changed as well
 *     s behind these  the plan has subplans: a statement that had to wait may have read more through them
 *     columns         their positions, counted from 0 without dropped ones; - for none, * for all
 *     no DETAIL       which rows cannot be told: there is no primary key, they are too many, the statement has failed
 *
 * When a statement that is not inside of another one has run, it says so with the tables that it writes to: INFO isolde-ran
 * 16385. And where one may call a function that is VOLATILE: INFO isolde-call nextval. Of what triggers do, only the reads are
 * told.
 *
 * How. When a plan has been set up, each of its nodes that scans a table gets a function around the one that fetches its next
 * row. Nothing else of the server is changed, nothing is written anywhere, and all that is kept hangs in the memory of the
 * statement, which the server frees, whichever way the statement ends.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_index.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

/* Of a table of which more rows are read, they are not told. */
#define ROWS_MAX 1000

/* A table that a statement scans, by however many nodes of its plan. */
typedef struct Table
{
	struct Table *next;
	Oid			oid;
	TupleDesc	columns;		/* while the plan is set up */
	bool		locked;			/* its rows are locked or changed */
	bool		vague;			/* which rows cannot be told */
	bool		asked_all;		/* every column decides which rows are read */
	Bitmapset  *asked;			/* those that do, by position */
	int			nkeys;			/* the columns of the primary key */
	AttrNumber	keys[INDEX_MAX_KEYS];
	FmgrInfo	output[INDEX_MAX_KEYS];
	HTAB	   *met;			/* where the rows lie that are in "rows" */
	StringInfoData rows;
} Table;

/* A node of a plan that fetches rows of a table. */
typedef struct Watch
{
	PlanState  *node;			/* which one: the key of the hash table, so the first */
	ExecProcNodeMtd fetch;		/* what fetches its next row */
	Table	   *table;
	AttrNumber	places[INDEX_MAX_KEYS]; /* where its rows have the key */
	MemoryContext scratch;		/* for the texts of one row */
	struct Watch *next;			/* of the same statement */
} Watch;

/* A statement under way. */
typedef struct Reading
{
	struct Reading *next;
	QueryDesc  *query;
	MemoryContext memory;		/* that of the statement */
	MemoryContext scratch;
	MemoryContextCallback over;
	bool		vague;			/* others read for it, or it has failed: no rows can be told */
	Table	   *tables;
	Watch	   *watches;
} Reading;

/* Statements under way, and the nodes of their plans. */
static Reading *readings = NULL;
static HTAB *watches = NULL;

/* Statements that run inside of one another: 0 while none does. */
static int	depth = 0;

static ExecutorStart_hook_type next_start = NULL;
static ExecutorRun_hook_type next_run = NULL;
static object_access_hook_type next_access = NULL;

/* ---------------------------------------------------------------------------------------------------------------------
 * Rows
 */

/* Where the row lies that a node has just returned. */
static ItemPointerData
place_of(PlanState *node)
{
	if (IsA(node, IndexOnlyScanState))
		return ((IndexOnlyScanState *) node)->ioss_ScanDesc->xs_heaptid;
	return ((ScanState *) node)->ss_ScanTupleSlot->tts_tid;
}

/* Appends a value as PostgreSQL would print it inside of a row, always in quotes. */
static void
append_quoted(StringInfo text, const char *value)
{
	appendStringInfoChar(text, '"');
	for (; *value; value++)
	{
		if (*value == '"' || *value == '\\')
			appendStringInfoChar(text, *value);
		appendStringInfoChar(text, *value);
	}
	appendStringInfoChar(text, '"');
}

/* Adds the row that a node has just returned to those of its table. */
static void
note_row(Watch *watch)
{
	Table	   *table = watch->table;
	TupleTableSlot *slot = ((ScanState *) watch->node)->ss_ScanTupleSlot;
	ItemPointerData place;
	MemoryContext before;
	bool		known;

	if (table->vague)
		return;
	if (TupIsNull(slot) || hash_get_num_entries(table->met) >= ROWS_MAX)
	{
		table->vague = true;
		return;
	}
	place = place_of(watch->node);
	hash_search(table->met, &place, HASH_ENTER, &known);
	if (known)
		return;
	before = MemoryContextSwitchTo(watch->scratch);
	for (int key = 0; key < table->nkeys; key++)
	{
		bool		is_null;
		Datum		value = slot_getattr(slot, watch->places[key], &is_null);

		if (table->rows.len > 0)
			appendStringInfoChar(&table->rows, ',');
		if (is_null)
			table->vague = true;
		else
			append_quoted(&table->rows, OutputFunctionCall(&table->output[key], value));
	}
	MemoryContextSwitchTo(before);
	MemoryContextReset(watch->scratch);
}

/* Stands around the function that fetches a node's next row. */
static TupleTableSlot *
fetch_and_note(PlanState *node)
{
	Watch	   *watch = (Watch *) hash_search(watches, &node, HASH_FIND, NULL);
	TupleTableSlot *slot;

	if (watch == NULL)
		elog(ERROR, "isolde_reads: a node of a plan is not known");
	slot = watch->fetch(node);
	if (!TupIsNull(slot))
		note_row(watch);
	return slot;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Tables and their columns
 */

/* Counts a column among those that decide which rows are read. */
static void
ask_about(Table *table, int attno)
{
	int			position = 0;

	/* A whole row; or where a row lies and who wrote it, which changes with every change. */
	if (attno <= 0)
	{
		table->asked_all = true;
		return;
	}
	for (int at = 0; at < attno - 1; at++)
		position += TupleDescAttr(table->columns, at)->attisdropped ? 0 : 1;
	table->asked = bms_add_member(table->asked, position);
}

/* The same for all columns of a relation that expressions mention. */
static void
ask_about_all(Table *table, List *expressions, Index relid)
{
	Bitmapset  *attnos = NULL;
	int			at = -1;

	pull_varattnos((Node *) expressions, relid, &attnos);
	while ((at = bms_next_member(attnos, at)) >= 0)
		ask_about(table, at + FirstLowInvalidHeapAttributeNumber);
}

/*
 * The same for all that an index is about. A scan of it may end early because it knows the order of the rows; and conditions
 * that follow from the predicate of the index are not in the plan any more.
 */
static void
ask_about_index(Table *table, Relation index)
{
	for (int at = 0; at < index->rd_index->indnatts; at++)
		if (index->rd_index->indkey.values[at] != 0)
			ask_about(table, index->rd_index->indkey.values[at]);
	ask_about_all(table, RelationGetIndexExpressions(index), 1);
	ask_about_all(table, RelationGetIndexPredicate(index), 1);
}

/* How rows of a table are told apart; not at all without a primary key. */
static void
find_key(Table *table, Relation relation)
{
	HeapTuple	tuple;
	Form_pg_index index;

	table->vague = true;
	list_free(RelationGetIndexList(relation));
	if (!OidIsValid(relation->rd_pkindex))
		return;
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(relation->rd_pkindex));
	if (!HeapTupleIsValid(tuple))
		return;
	index = (Form_pg_index) GETSTRUCT(tuple);
	table->nkeys = index->indnkeyatts;
	for (int key = 0; key < table->nkeys; key++)
	{
		AttrNumber	attno = index->indkey.values[key];
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(TupleDescAttr(table->columns, attno - 1)->atttypid, &output, &is_varlena);
		fmgr_info(output, &table->output[key]);
		table->keys[key] = attno;
	}
	ReleaseSysCache(tuple);
	table->vague = false;
}

/* What is known of a table that a statement scans. */
static Table *
table_of(Reading *reading, Relation relation)
{
	Table	   *table;
	HASHCTL		control = {0};

	for (table = reading->tables; table != NULL; table = table->next)
		if (table->oid == RelationGetRelid(relation))
			return table;
	table = (Table *) palloc0(sizeof(Table));
	table->oid = RelationGetRelid(relation);
	table->columns = RelationGetDescr(relation);
	table->next = reading->tables;
	reading->tables = table;
	find_key(table, relation);
	control.keysize = sizeof(ItemPointerData);
	control.entrysize = sizeof(ItemPointerData);
	control.hcxt = reading->memory;
	table->met = hash_create("isolde_reads rows", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	initStringInfo(&table->rows);
	return table;
}

/* Whether a statement locks or changes the rows of one of its relations. */
static bool
is_locked(PlannedStmt *plan, Index relid)
{
	ListCell   *cell;

	if (list_member_int(plan->resultRelations, relid))
		return true;
	foreach(cell, plan->rowMarks)
	{
		PlanRowMark *mark = lfirst_node(PlanRowMark, cell);

		if (mark->rti == relid && mark->markType <= ROW_MARK_KEYSHARE)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Nodes of plans
 */

/* Where the rows of an index-only scan, which are those of the index, have the primary key; false if they do not. */
static bool
find_places_in_index(Watch *watch, Relation index)
{
	for (int key = 0; key < watch->table->nkeys; key++)
	{
		watch->places[key] = 0;
		for (int at = 0; at < index->rd_index->indnatts; at++)
			if (index->rd_index->indkey.values[at] == watch->table->keys[key])
				watch->places[key] = at + 1;
		if (watch->places[key] == 0)
			return false;
	}
	return true;
}

/* Puts our function around the one that fetches a node's rows. */
static void
surround(Reading *reading, PlanState *node, Table *table)
{
	bool		known;
	Watch	   *watch = (Watch *) hash_search(watches, &node, HASH_ENTER, &known);

	if (known)
		elog(ERROR, "isolde_reads: a node of a plan is known already");
	watch->next = reading->watches;
	reading->watches = watch;
	watch->table = table;
	watch->scratch = reading->scratch;
	watch->fetch = node->ExecProcNodeReal;
	memcpy(watch->places, table->keys, sizeof(watch->places));
	if (IsA(node, IndexOnlyScanState) &&
		!find_places_in_index(watch, ((IndexOnlyScanState *) node)->ioss_RelationDesc))
		table->vague = true;
	/* With its first call a node goes over to this one by itself. */
	node->ExecProcNodeReal = fetch_and_note;
}

/* Watches a node that scans a table with conditions that are understood, by way of an index or not. */
static void
watch_scan(Reading *reading, PlanState *node, List *conditions, Relation index)
{
	Relation	relation = ((ScanState *) node)->ss_currentRelation;
	Index		relid = ((Scan *) node->plan)->scanrelid;
	Table	   *table;

	if (RelationGetRelid(relation) < FirstNormalObjectId)
		return;
	table = table_of(reading, relation);
	table->locked |= is_locked(reading->query->plannedstmt, relid);
	ask_about_all(table, node->plan->qual, relid);
	ask_about_all(table, conditions, relid);
	if (index != NULL)
		ask_about_index(table, index);
	surround(reading, node, table);
}

/* Remembers that a node reads from a table in a way of which nothing is told. */
static void
give_up_on(Reading *reading, PlanState *node)
{
	Relation	relation = ((ScanState *) node)->ss_currentRelation;
	Table	   *table;

	if (relation == NULL)
	{
		ereport(INFO, (errmsg_internal("isolde-call a scan that reads other things than a table")));
		return;
	}
	table = table_of(reading, relation);
	table->locked |= is_locked(reading->query->plannedstmt, ((Scan *) node->plan)->scanrelid);
	table->vague = table->asked_all = true;
}

/* The index of a bitmap scan is asked about the table that the node above it reads. */
static void
watch_bitmap(Reading *reading, Relation index)
{
	if (index == NULL)
		return;
	for (Table *table = reading->tables; table != NULL; table = table->next)
		if (table->oid == index->rd_index->indrelid)
			ask_about_index(table, index);
}

/* Goes through a plan that has been set up. */
static bool
watch_plan(PlanState *node, void *context)
{
	Reading    *reading = (Reading *) context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_SeqScanState:
			watch_scan(reading, node, NIL, NULL);
			break;
		case T_IndexScanState:
			watch_scan(reading, node, ((IndexScan *) node->plan)->indexqualorig,
					   ((IndexScanState *) node)->iss_RelationDesc);
			break;
		case T_IndexOnlyScanState:
			/* All it asks about is in the index. */
			watch_scan(reading, node, NIL, ((IndexOnlyScanState *) node)->ioss_RelationDesc);
			break;
		case T_BitmapHeapScanState:
			watch_scan(reading, node, ((BitmapHeapScan *) node->plan)->bitmapqualorig, NULL);
			break;
		case T_BitmapIndexScanState:
			watch_bitmap(reading, ((BitmapIndexScanState *) node)->biss_RelationDesc);
			break;
		case T_SampleScanState:
		case T_TidScanState:
#if PG_VERSION_NUM >= 140000
		case T_TidRangeScanState:
#endif
		case T_ForeignScanState:
		case T_CustomScanState:
			give_up_on(reading, node);
			break;
		case T_GatherState:
		case T_GatherMergeState:
			/* What workers read is told by nobody. */
			reading->vague = true;
			break;
		default:
			break;
	}
	return planstate_tree_walker(node, watch_plan, context);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Statements
 */

/* The memory of a statement is about to be freed: nothing of it is known any more. */
static void
forget(void *arg)
{
	Reading    *reading = (Reading *) arg;

	for (Watch *watch = reading->watches; watch != NULL;)
	{
		Watch	   *next = watch->next;

		hash_search(watches, &watch->node, HASH_REMOVE, NULL);
		watch = next;
	}
	for (Reading **at = &readings; *at != NULL; at = &(*at)->next)
	{
		if (*at == reading)
		{
			*at = reading->next;
			break;
		}
	}
}

/* A statement is about to run: its plan is watched. */
static void
begin_reading(QueryDesc *query)
{
	MemoryContext memory = query->estate->es_query_cxt;
	MemoryContext before = MemoryContextSwitchTo(memory);
	Reading    *reading = (Reading *) palloc0(sizeof(Reading));

	reading->query = query;
	reading->memory = memory;
	reading->scratch = AllocSetContextCreate(memory, "isolde_reads row", ALLOCSET_SMALL_SIZES);
	reading->over.func = forget;
	reading->over.arg = reading;
	reading->next = readings;
	readings = reading;
	MemoryContextRegisterResetCallback(memory, &reading->over);
	watch_plan(query->planstate, reading);
	MemoryContextSwitchTo(before);
}

/* The statement that a query belongs to; there is none in a worker, and for plans that were set up before we were loaded. */
static Reading *
reading_of(QueryDesc *query)
{
	Reading    *reading = readings;

	while (reading != NULL && reading->query != query)
		reading = reading->next;
	return reading;
}

/* The columns that decide, as they are told. */
static void
append_asked(StringInfo text, Table *table)
{
	int			position = -1;
	const char *between = "";

	if (table->asked_all)
		appendStringInfoChar(text, '*');
	else if (bms_is_empty(table->asked))
		appendStringInfoChar(text, '-');
	else
	{
		while ((position = bms_next_member(table->asked, position)) >= 0)
		{
			appendStringInfo(text, "%s%d", between, position);
			between = ",";
		}
	}
}

/* Tells what has been read of a table. */
static void
tell_table(Reading *reading, Table *table)
{
	StringInfoData text;
	bool		has_subplans = reading->query->plannedstmt->subplans != NIL;

	initStringInfo(&text);
	appendStringInfo(&text, "isolde-read %u %c%s ", table->oid, table->locked ? 'l' : 'r', has_subplans ? "s" : "");
	append_asked(&text, table);
	if (reading->vague || table->vague)
		ereport(INFO, (errmsg_internal("%s", text.data)));
	else
		ereport(INFO, (errmsg_internal("%s", text.data), errdetail_internal("(%s)", table->rows.data)));
	pfree(text.data);
}

/*
 * Tells what a statement has read so far. There may be more to come: a cursor fetches its rows in several runs, of which each
 * tells all over again.
 */
static void
tell(Reading *reading)
{
	MemoryContext before = MemoryContextSwitchTo(reading->memory);

	for (Table *table = reading->tables; table != NULL; table = table->next)
		tell_table(reading, table);
	MemoryContextSwitchTo(before);
}

/* Tells that a statement has run, and which tables it writes to. */
static void
tell_end(PlannedStmt *plan)
{
	StringInfoData text;
	ListCell   *cell;
	const char *between = "";

	initStringInfo(&text);
	appendStringInfoString(&text, "isolde-ran ");
	foreach(cell, plan->resultRelations)
	{
		appendStringInfo(&text, "%s%u", between, rt_fetch(lfirst_int(cell), plan->rtable)->relid);
		between = ",";
	}
	ereport(INFO, (errmsg_internal("%s", text.data)));
	pfree(text.data);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Where the server calls us
 */

/* Whether this is done by a trigger, as part of another statement, or by a worker. */
static bool
is_behind_scenes(void)
{
	return IsParallelWorker() || DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0)) > 0;
}

static void
on_start(QueryDesc *query, int eflags)
{
	if (next_start)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY) && !IsParallelWorker() && query->planstate != NULL)
		begin_reading(query);
}

#if PG_VERSION_NUM >= 180000
#define RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count
#define RUN_ARGUMENTS query, direction, count
#else
#define RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count, bool execute_once
#define RUN_ARGUMENTS query, direction, count, execute_once
#endif

static void
on_run(RUN_PARAMETERS)
{
	depth++;
	PG_TRY();
	{
		if (next_run)
			next_run(RUN_ARGUMENTS);
		else
			standard_ExecutorRun(RUN_ARGUMENTS);
		depth--;
	}
	PG_CATCH();
	{
		Reading    *reading = reading_of(query);

		depth--;

		/*
		 * A routine may catch the error, and then these tables have been read all the same. Not all rows are known: the one
		 * that the statement failed at is not, and with an error on its way nothing may be looked up any more.
		 */
		HOLD_INTERRUPTS();
		if (reading != NULL)
		{
			reading->vague = true;
			tell(reading);
		}
		RESUME_INTERRUPTS();
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (reading_of(query) != NULL)
		tell(reading_of(query));
	if (depth == 0 && !is_behind_scenes())
		tell_end(query->plannedstmt);
}

/* A function is about to become part of an expression that may call it. */
static void
on_access(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *arg)
{
	if (next_access)
		next_access(access, class_id, object_id, sub_id, arg);
	if (access == OAT_FUNCTION_EXECUTE && !is_behind_scenes() &&
		func_volatile(object_id) == PROVOLATILE_VOLATILE)
		ereport(INFO, (errmsg_internal("isolde-call %s", get_func_name(object_id))));
}

/* The module is loaded. */
void
_PG_init(void)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(PlanState *);
	control.entrysize = sizeof(Watch);
	control.hcxt = TopMemoryContext;
	watches = hash_create("isolde_reads nodes", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = on_start;
	next_run = ExecutorRun_hook;
	ExecutorRun_hook = on_run;
	next_access = object_access_hook;
	object_access_hook = on_access;
}
