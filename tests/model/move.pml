/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One extent's moves under I/O: in-flight counts and drains, copies, freeze,
 * commit and publication, the second drain, reuse of the old slot, and power
 * loss at every step.  README.md maps the steps to functions and says what is
 * left out.
 *
 * Two devices with a slot each.  Extent X lies on device 0 and is moved MOVES
 * times to the other; its region 0 is valid, region 1 is not.  Another extent
 * takes a slot whenever one is free (REUSES times) and fills it.  Users of X do
 * W0 writes to region 0, W1 operations on region 1 (first and later writes,
 * discards), R reads of region 0 and FLUSHES flushes, in all orders.
 *
 * Volatile caches as in commit.pml: may[] is what a sector's medium can hold if
 * power fails now.  What the log's blocks do is commit.pml's and log.pml's; here
 * a commit becomes durable in one step.  power() checks in every state what
 * would be recovered, and what is read now.
 *
 * Switches: the numbers above, FUA (the writes to region 0 are FUA), ABORTS
 * (moves are given up at any moment), FLUSH_ERRORS=n (flushes of devices that
 * fail or are late).  Broken rules: PUBLISH_BEFORE_COMMIT, DIRTY_AT_SUBMISSION,
 * FREE_WITHOUT_SECOND_DRAIN, SKIP_DATA_FLUSH (of the destination), and
 * NO_REREAD (of the entry, in the section).
 */
#ifndef MOVES
#define MOVES 1
#endif
#ifndef REUSES
#define REUSES 1
#endif
#ifndef W0
#define W0 1
#endif
#ifndef W1
#define W1 0
#endif
#ifndef R
#define R 0
#endif
#ifndef FLUSHES
#define FLUSHES 1
#endif
#ifndef FLUSH_ERRORS
#define FLUSH_ERRORS 0
#endif

#define ZERO	1			/* values of sectors */
#define GARBAGE	2
#define OLD	4
#define FIRST	8

#define S(d, r) ((d) * 2 + (r))		/* region r of the slot on device d */

/* Devices: cache and medium, a flush under way. */
short cur[4], may[4], pend[4];
bit issued[2];
byte flush_errors = FLUSH_ERRORS;

/* In flight (dm-tier-device.c): by device, epoch and CPU. */
#define G(d, e, c) ((d) * 4 + (e) * 2 + (c))
byte get[8], put[8];
bit epoch[2], summing[2];
bit section[3];				/* preemption is off, by user */

/* The entry of X: device and flags; and its valid regions. */
byte entry;
#define DEVICE(e)	((e) & 1)
#define FROZEN		2
#define MIGRATING	4
#define CHANGED(q)	(8 << ((q) & 1))
#define CHANGED_ANY	24
#define FLAG(e, f)	(((e) & (f)) != 0)
bit valid[2];
bit busy;				/* an operation on region 1 */

#define FREE		0
#define OWNED		1		/* by X */
#define RESERVED	2		/* or parked */
#define FREEING		3
#define FOREIGN		4		/* owned by the other extent */
byte sstate[2];

/* The volume. */
bit vdirty[2];
byte flushing[2];
byte changed_seq, dropped_seq;

/* Changes of the two slots: masks of valid regions, 0 .. 3, + 4 if X owns it. */
#define NOTHING	0
#define MINE	4
typedef change {
	bit on, open, inflight, deps, copy_deps;
	byte committed, copy
};
change chg[2];
byte open_seq = 1, durable_seq, seq;
byte img[2];				/* the durable records */

/* The move. */
bit found;				/* pool->active: its dirty map can be found */
bit dirty[2];
byte job[2];				/* copies: 0, 1 begun, 2 read, not written */
short copied[2];
byte rec;				/* to_record */
#define NONE	0
#define WAITING	1
#define TAKEN	2
#define DURABLE	3
#define DROPPED	4
byte outcome;
bit sealed;

/* What users can see, and find after a loss of power, by region. */
short done[2], ok[2], snap[2], seen;

/* ---- devices ---- */

inline dev_write(i, v)
{
	cur[i] = v;
	may[i] = may[i] | v;
	if
	:: issued[(i) / 2] -> pend[i] = pend[i] | v
	:: else
	fi
}

inline dev_write_fua(i, v)
{
	cur[i] = v;
	may[i] = v;
	if
	:: issued[(i) / 2] -> pend[i] = v
	:: else
	fi
}

/* A flush of device d, begun now; sets error. */
inline flush_device(d, error)
{
	d_step { !issued[d] ->
		issued[d] = 1;
		pend[S(d, 0)] = cur[S(d, 0)];
		pend[S(d, 1)] = cur[S(d, 1)]
	};
	if
	:: d_step {
		may[S(d, 0)] = pend[S(d, 0)];
		may[S(d, 1)] = pend[S(d, 1)];
		pend[S(d, 0)] = 0;
		pend[S(d, 1)] = 0;
		issued[d] = 0
	   }
	:: d_step { flush_errors > 0 ->
		flush_errors--;
		pend[S(d, 0)] = 0;
		pend[S(d, 1)] = 0;
		issued[d] = 0;
		error = 1
	   }
	fi
}

/* dm_tier_device_put(), on CPU c */
inline inflight_put(d, e, c)
{
	put[G(d, e, c)]++;
	/* Only differences count: from 0 again, which saves states. */
	if
	:: !summing[d] && get[G(d, e, 0)] + get[G(d, e, 1)] == put[G(d, e, 0)] + put[G(d, e, 1)] ->
		get[G(d, e, 0)] = 0;
		get[G(d, e, 1)] = 0;
		put[G(d, e, 0)] = 0;
		put[G(d, e, 1)] = 0
	:: else
	fi
}

/*
 * The section of map(), in its single steps: user u on CPU c.
 * Leaves the entry in e and the epoch in ep, counted; or jumps to hold if one of the flags is set.
 */
#define SECTION(u, c, flags, hold) \
	do \
	:: d_step { section[u] = 1; e = entry } \
	   if \
	   :: d_step { FLAG(e, flags) -> section[u] = 0 } goto hold \
	   :: else \
	   fi; \
	   ep = epoch[DEVICE(e)]; \
	   get[G(DEVICE(e), ep, c)]++; \
	   if \
	   :: d_step { REREAD -> section[u] = 0 } break \
	   :: d_step { !(REREAD) -> inflight_put(DEVICE(e), ep, c); section[u] = 0 } \
	   fi \
	od
#ifdef NO_REREAD
#define REREAD true
#else
#define REREAD entry == e
#endif

/* tier_end_io() of a write to region r, on CPU c */
#define MARK_VOLUME vdirty[DEVICE(e)] = 1
#define MARK_MOVE(r) \
	if \
	:: FLAG(entry, MIGRATING) -> \
		if \
		:: d_step { found -> dirty[r] = 1 } \
		:: !found \
		fi \
	:: else \
	fi
#ifdef DIRTY_AT_SUBMISSION
#define AT_SUBMISSION(r) MARK_VOLUME; MARK_MOVE(r)
#define AT_END(r) skip
#else
#define AT_SUBMISSION(r) skip
#define AT_END(r) MARK_VOLUME; MARK_MOVE(r)
#endif

/* Each section that has begun before ends before; users that do not run cost no step. */
inline synchronize_rcu()
{
#if W0
	!section[0];
#endif
#if W1
	!section[1];
#endif
#if R
	!section[2];
#endif
	skip
}

/* dm_tier_device_drain() of device d by the mover */
inline drain(d)
{
	d_step { old = epoch[d]; epoch[d] = !old }
	synchronize_rcu();
	/* wait_epoch(): puts before gets, CPU by CPU */
	do
	:: d_step { summing[d] = 1; sum = put[G(d, old, 0)] }
	   sum = sum + put[G(d, old, 1)];
	   sum = get[G(d, old, 0)] - sum;
	   d_step { sum = get[G(d, old, 1)] + sum; summing[d] = 0 }
	   if
	   :: d_step { sum == 0 -> old = 0 } break
	   /* Polled again: when something has changed */
	   :: d_step { sum != 0 &&
		get[G(d, old, 0)] + get[G(d, old, 1)] == put[G(d, old, 0)] + put[G(d, old, 1)] ->
		sum = 0
	      }
	   fi
	od
}

/* ---- changes and commits ---- */

#define NEWEST(d) (sstate[d] == OWNED -> MINE + valid[0] + 2 * valid[1] : NOTHING)

/* Only the slot of X is ever touched; marks the entry. */
inline touch(d, dep)
{
	if
	:: !chg[d].on ->
		chg[d].on = 1;
		chg[d].committed = NEWEST(d)
	:: else
	fi;
	chg[d].open = 1;
	chg[d].deps = chg[d].deps | dep;
	changed_seq = open_seq;
	entry = entry | CHANGED(open_seq)
}

inline take()
{
	deps[0] = 0;
	deps[1] = 0;
	for (d : 0 .. 1) {
		if
		:: chg[d].open ->
			chg[d].copy = NEWEST(d);
			chg[d].copy_deps = chg[d].deps;
			deps[d] = chg[d].deps;
			chg[d].deps = 0;
			chg[d].open = 0;
			chg[d].inflight = 1
		:: else
		fi
	}
	d = 0;
	sealed = 0;
	if
	:: outcome == WAITING -> outcome = TAKEN; deps[to] = 1
	:: else
	fi;
	seq = open_seq;
	open_seq++
}

inline drop_failed()
{
	sealed = 1;
	for (d : 0 .. 1) {
		if
		:: failed[d] && chg[d].inflight && chg[d].copy && chg[d].copy_deps ->
			chg[d].open = 1;
			chg[d].deps = 1;
			chg[d].copy = chg[d].copy & (chg[d].committed | MINE);
			dropped_seq = seq;
			changed_seq = open_seq;
			entry = entry | CHANGED(open_seq)
		:: else
		fi
	}
	d = 0;
	if
	:: outcome == TAKEN && failed[to] -> outcome = DROPPED
	:: else
	fi;
	failed[0] = 0;
	failed[1] = 0;
	deps[0] = 0;
	deps[1] = 0
}

/* Changes first, then the move's two records. */
inline log_durable()
{
	for (d : 0 .. 1) {
		if
		:: chg[d].inflight -> img[d] = chg[d].copy
		:: else
		fi
	}
	d = 0;
	if
	:: outcome == TAKEN -> img[to] = rec; img[1 - to] = NOTHING
	:: else
	fi
}

/* Of __dm_tier_migrate_committed(): all flags go. */
inline publish()
{
	sstate[to] = OWNED;
	sstate[1 - to] = FREEING;
	entry = to;
	found = 0
}

inline durable()
{
	for (d : 0 .. 1) {
		if
		:: chg[d].inflight ->
			chg[d].inflight = 0;
			chg[d].copy_deps = 0;
			if
			:: chg[d].copy -> entry = entry & (255 - CHANGED(seq))
			:: else
			fi;
			if
			:: chg[d].open -> chg[d].committed = chg[d].copy
			:: else -> chg[d].on = 0; chg[d].committed = NOTHING
			fi;
			chg[d].copy = NOTHING
		:: else
		fi
	}
	d = 0;
	if
	:: outcome == TAKEN ->
		if
		:: chg[to].on -> chg[to].committed = rec
		:: else
		fi;
		if
		:: chg[1 - to].on -> chg[1 - to].committed = NOTHING
		:: else
		fi;
#ifndef PUBLISH_BEFORE_COMMIT
		publish();
#endif
		outcome = DURABLE
	:: else
	fi;
	durable_seq = seq
}

byte to = 1;				/* the move's destination */

active proctype commit()
{
	byte d;
	bit deps[2], failed[2];

end:	do
	:: d_step { chg[0].open || chg[1].open || outcome == WAITING -> take() }
#ifndef SKIP_DATA_FLUSH
	   if
	   :: deps[0] -> flush_device(0, failed[0])
	   :: else
	   fi;
	   if
	   :: deps[1] -> flush_device(1, failed[1])
	   :: else
	   fi;
#endif
	   d_step { drop_failed() }
#ifdef PUBLISH_BEFORE_COMMIT
	   if
	   :: d_step { outcome == TAKEN -> publish() }
	   :: else
	   fi;
#endif
	   if
	   :: d_step { log_durable() } d_step { durable() }
	   fi
	od
}

/* ---- the mover (dm-tier-move.c) ---- */

active [2] proctype kcopyd()
{
	byte r = _pid - 1;

end:	do
	:: d_step { job[r] == 1 -> copied[r] = cur[S(1 - to, r)]; job[r] = 2 }
	:: d_step { job[r] == 2 -> dev_write(S(to, r), copied[r]); copied[r] = 0; job[r] = 0 }
	od
}

#ifdef ABORTS
#define OR_STOP :: true -> goto give_up
#else
#define OR_STOP
#endif

/* dm_tier_copy_pass() */
inline copy_pass()
{
	if
	:: d_step { dirty[0] -> dirty[0] = 0 } job[0] = 1
	:: !dirty[0]
	OR_STOP
	fi;
	if
	:: d_step { dirty[1] -> dirty[1] = 0 } job[1] = 1
	:: !dirty[1]
	OR_STOP
	fi;
	if
	:: !job[0] && !job[1]
	OR_STOP
	fi
}

proctype mover()
{
	byte n;
	short sum;
	bit old, error;

	do
	:: n == MOVES -> break
	/* begin(): reserve(); the map can be found before the flag is seen */
	:: d_step { n < MOVES && sstate[to] == FREE ->
		n++;
		sstate[to] = RESERVED;
		found = 1
	   }
	   entry = entry | MIGRATING;
	   synchronize_rcu();
	   d_step {
		dirty[0] = dirty[0] | valid[0];
		dirty[1] = dirty[1] | valid[1]
	   }
	   copy_pass();				/* dm_tier_copy_pre() */

	   entry = entry | FROZEN;		/* freeze() */
	   drain(1 - to);
	   if
	   :: !busy				/* extent_idle() */
	   OR_STOP
	   fi;
	   copy_pass();
#ifndef SKIP_DATA_FLUSH
	   flush_device(to, error);
	   if
	   :: error -> goto give_up
	   :: else
	   fi;
#endif

	   d_step {				/* commit(): make_records(), add */
		rec = MINE + valid[0] + 2 * valid[1];
		outcome = WAITING
	   }
	   if
	   :: outcome == DURABLE
	   :: outcome == DROPPED -> goto give_up
#ifdef ABORTS
	   :: d_step { outcome == WAITING || (outcome == TAKEN && !sealed) -> outcome = NONE }
	      goto give_up
#endif
	   fi;
	   d_step { rec = 0; outcome = NONE }

	   /* retire() */
#ifndef FREE_WITHOUT_SECOND_DRAIN
	   drain(1 - to);
#endif
	   if					/* the discard, as the device likes */
	   :: d_step { dev_write(S(1 - to, 0), ZERO); dev_write(S(1 - to, 1), ZERO) }
	   :: skip
	   fi;
	   d_step { sstate[1 - to] = FREE; to = 1 - to }
	   goto ended;

give_up:   if
	   :: d_step {
		entry = entry & (255 - FROZEN - MIGRATING);
		found = 0;
		rec = 0;
		outcome = NONE;
		error = 0;
		old = 0;
		sum = 0
	      }
	   fi;
	   d_step { !job[0] && !job[1] ->
		dirty[0] = 0;
		dirty[1] = 0;
		sstate[to] = FREE
	   }
ended:	   skip
	od
}

/* Another extent takes a slot that is free, and fills it. */
proctype other()
{
	byte n, d;

end:	do
	:: n == REUSES -> break
	:: d_step { n < REUSES && sstate[0] == FREE -> sstate[0] = FOREIGN; n++ } d = 0; goto fill
	:: d_step { n < REUSES && sstate[1] == FREE -> sstate[1] = FOREIGN; n++ } d = 1; goto fill
	od;
	goto out;
fill:	if
	:: d_step { dev_write(S(d, 0), GARBAGE); dev_write(S(d, 1), GARBAGE) }
	fi;
	/* Nobody has written to it; it is discarded again, and the move can have it. */
	if
	:: d_step {
		assert(cur[S(d, 0)] == GARBAGE && cur[S(d, 1)] == GARBAGE);
		sstate[d] = FREE;
		d = 0
	   }
	   goto end
	fi;
out:	skip
}

/* ---- users ---- */

inline submit(r, v)
{
	done[r] = done[r] | v;
	ok[r] = ok[r] | v;
	snap[r] = snap[r] | v;
	if
	:: r == 0 -> seen = seen | v
	:: else
	fi
}

#ifdef FUA
#define NEVER FROZEN + CHANGED_ANY
#define DEV_WRITE dev_write_fua
/* dm_tier_io_fua_done(): wait_seq is 0 if there is nothing to wait for */
#define COMMITTED durable_seq >= wait_seq
inline written(r)
{
	if
	:: wait_seq && dropped_seq >= wait_seq	/* BLK_STS_IOERR */
	:: else -> done[r] = v; ok[r] = v
	fi;
	wait_seq = 0;
	v = 0
}
#else
#define NEVER FROZEN
#define DEV_WRITE dev_write
#define COMMITTED true
inline written(r)
{
	done[r] = v;
	wait_seq = 0;
	v = 0
}
#endif

proctype writer0()
{
	byte n, e, wait_seq;
	bit ep, fua_data;
	short v;

	do
	:: n == W0 -> break
	:: d_step { n < W0 -> v = FIRST << n; submit(0, v); n++ }
again:	   SECTION(0, 0, NEVER, slow);
	   goto send;
	   /* dm_tier_io_write(): parked while frozen, then dm_tier_io_submit_mapped() */
slow:	   if
	   :: !FLAG(entry, FROZEN)
	   fi;
	   SECTION(0, 0, FROZEN, slow);
#ifdef FUA
	   fua_data = 1;
#endif
send:	   AT_SUBMISSION(0);
	   d_step { DEV_WRITE(S(DEVICE(e), 0), v) }
	   AT_END(0);
	   d_step { inflight_put(DEVICE(e), ep, 1); e = 0; ep = 0 }
	   if
	   /* dm_tier_io_fua_data_done() */
	   :: d_step { fua_data && FLAG(entry, CHANGED_ANY) -> wait_seq = changed_seq }
	   :: !(fua_data && FLAG(entry, CHANGED_ANY))
	   fi;
	   if
	   :: d_step { COMMITTED ->
		written(0);
		fua_data = 0
	      }
	   fi
	od
}

proctype writer1()
{
	byte n, e, d, wait_seq;
	bit ep, op, fua_data;
	short v;

next:	do
	:: n == W1 -> break
	:: d_step { n < W1 -> v = FIRST << (W0 + n); submit(1, v); n++ } goto write
	:: d_step { n < W1 -> submit(1, ZERO); n++ } goto discard
	od;
	goto out;

write:	if
	/* look_at_write() */
	:: valid[1] -> goto mapped
	:: d_step { !FLAG(entry, FROZEN) && !valid[1] ->
		busy = 1;
		op = 1;
		d = DEVICE(entry)
	   }
	fi;
	/* first_write_send(): the slot cannot go while the operation lasts */
	d_step { e = d; ep = epoch[d]; get[G(d, ep, 0)]++ }
	goto send;
	/* tier_map() or dm_tier_io_submit_mapped(), whose FUA looks at the marks again */
mapped:	SECTION(1, 0, NEVER, slow);
	goto send;
slow:	if
	:: !FLAG(entry, FROZEN)
	fi;
	SECTION(1, 0, FROZEN, slow);
#ifdef FUA
	fua_data = 1;
#endif
send:	AT_SUBMISSION(1);
	d_step { DEV_WRITE(S(DEVICE(e), 1), v) }
	AT_END(1);
	if
	:: d_step { inflight_put(DEVICE(e), ep, 1); e = 0; ep = 0 }
	fi;
	if
	/* dm_tier_io_first_write_done() */
	:: d_step { op ->
		touch(d, 1);
		valid[1] = 1;
		dirty[1] = dirty[1] | found;
		busy = 0;
		op = 0;
		d = 0;
		wait_seq = open_seq
	   }
	/* dm_tier_io_fua_data_done() */
	:: d_step { !op && fua_data && FLAG(entry, CHANGED_ANY) -> wait_seq = changed_seq }
	:: !op && !(fua_data && FLAG(entry, CHANGED_ANY))
	fi;
	if
	:: d_step { COMMITTED ->
		written(1);
		fua_data = 0
	   }
	fi;
	goto next;

discard: if
	/* look_at_discard(): region 0 stays, so the extent does */
	:: d_step { !FLAG(entry, FROZEN) ->
		busy = 1;
		d = DEVICE(entry);
		touch(d, 0);
		valid[1] = 0
	   }
	fi;
	if
	:: d_step { dev_write(S(d, 1), ZERO) }
	:: skip
	fi;
	d_step { busy = 0; d = 0; done[1] = ZERO }
	goto next;
out:	skip
}

proctype reader()
{
	byte n, e;
	bit ep;

	do
	:: n == R -> break
	:: d_step { n < R -> n++; seen = done[0] }
	   SECTION(2, 1, 0, none);
	   if
	   :: d_step { assert(cur[S(DEVICE(e), 0)] & seen); seen = 0 }
	   fi;
	   d_step { inflight_put(DEVICE(e), ep, 0); e = 0; ep = 0 }
none:	   skip
	od
}

proctype flusher()
{
	byte n, wait_seq;
	bit error, f[2], m[2];

	do
	:: n == FLUSHES -> break
	:: d_step { n < FLUSHES ->
		n++;
		snap[0] = done[0];
		snap[1] = done[1];
		wait_seq = changed_seq
	   }
	   d_step { durable_seq >= wait_seq -> error = dropped_seq >= wait_seq && wait_seq }
	   /* flush_devices(); only one FLUSH at a time here, so flushing[] is 0 */
	   d_step { m[0] = vdirty[0]; m[1] = vdirty[1]; vdirty[0] = 0; vdirty[1] = 0 }
	   if
	   :: m[0] -> flush_device(0, f[0])
	   :: else
	   fi;
	   if
	   :: m[1] -> flush_device(1, f[1])
	   :: else
	   fi;
	   d_step {
		vdirty[0] = vdirty[0] | f[0];
		vdirty[1] = vdirty[1] | f[1];
		if
		:: !error && !f[0] && !f[1] -> ok[0] = ok[0] & snap[0]; ok[1] = ok[1] & snap[1]
		:: else
		fi;
		error = 0;
		f[0] = 0; f[1] = 0; m[0] = 0; m[1] = 0;
		snap[0] = 0; snap[1] = 0;
		wait_seq = 0
	   }
	od
}

/* ---- the invariant ---- */

inline check(r)
{
	if
	:: img[0] >= MINE && (img[0] >> r) & 1 -> m = may[S(0, r)]
	:: img[1] >= MINE && (img[1] >> r) & 1 -> m = may[S(1, r)]
	:: else -> m = ZERO
	fi;
	assert(!(m & ~ok[r]));
	/* And without a loss of power: a read now. */
	m = (valid[r] -> cur[S(DEVICE(entry), r)] : ZERO);
	assert(m & done[r]);
	m = 0
}

proctype power()
{
	short m;

end:	do
	:: d_step {
		/* One slot owns X, always. */
		assert((img[0] >= MINE) != (img[1] >= MINE));
		check(0);
		check(1)
	   }
	od
}

init
{
	d_step {
		cur[0] = OLD; may[0] = OLD;
		cur[1] = GARBAGE; may[1] = GARBAGE;
		cur[2] = GARBAGE; may[2] = GARBAGE;
		cur[3] = GARBAGE; may[3] = GARBAGE;
		sstate[0] = OWNED;
		valid[0] = 1;
		img[0] = MINE + 1;
		done[0] = OLD; ok[0] = OLD;
		done[1] = ZERO; ok[1] = ZERO
	}
	atomic {
		run power();
		run mover();
#if REUSES
		run other();
#endif
#if W0
		run writer0();
#endif
#if W1
		run writer1();
#endif
#if R
		run reader();
#endif
#if FLUSHES
		run flusher()
#endif
	}
}
