/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commit, first write, FLUSH, FUA, discard, reuse of slots, and power loss at
 * every step.  README.md maps the steps to functions and says what is left out.
 *
 * One volume with two extents, one data device with two slots of one region of
 * two sectors, a metadata device.  At the start extent 0 owns slot 0 durably
 * (FRESH: no extent owns one); what no extent owns holds garbage.  Two users do
 * OPS operations each (user 1: OPS1), in all orders.
 *
 * A volatile cache: may[] is the set of values that a sector of the medium can
 * hold when power fails now: all that were written since the last flush was
 * issued, in any combination over the sectors.  Values are bits of a mask.
 *
 * The invariant is checked in every state by power(), which changes nothing:
 * recovered from what may be on the media now, every sector holds a value that
 * its user can accept.
 *
 * Switches: SHARED (both users on extent 0, a sector each; no discards), CROSS
 * (user 0 writes to extent 1 and discards extent 0, to which user 1 writes),
 * FRESH, OPS, OPS1, FLUSH_ERRORS=n (data flushes that fail or are late), META_ERRORS=n
 * (flushes of the log that fail).  Broken rules: SKIP_DATA_FLUSH,
 * REUSE_BEFORE_FREE, DIRTY_AT_SUBMISSION, FUA_BEFORE_COMMIT, NO_CRC_CHAIN,
 * SKIP_ZEROING, FREE_WITHOUT_DRAIN.
 */
#ifndef OPS
#define OPS 2
#endif
#ifndef OPS1
#define OPS1 OPS
#endif
#ifndef FLUSH_ERRORS
#define FLUSH_ERRORS 0
#endif
#ifndef META_ERRORS
#define META_ERRORS 0
#endif

#define ZERO	1		/* values of sectors */
#define GARBAGE	2
#define OLD(i)	(4 << (i))	/* of extent 0 at the start, by sector */
#define FIRST	16

#define S(s, sec) ((s) * 2 + (sec))	/* index of a slot's or an extent's sector */

/* The device: cache and medium of each sector, and its flushes (dm-tier-device.c). */
short cur[4], may[4], pend[4];
bit issued;
byte f_wanted, f_started, f_done, f_ok;
bit f_running;
byte f_waiters;
byte flush_errors = FLUSH_ERRORS, meta_errors = META_ERRORS;
bit epoch;
byte inflight[2];

/* RAM, under pool->lock. */
#define FREE	0
#define OWNED	1
#define FREEING	2
byte entry[2];			/* of an extent: 0, or 1 + slot */
bit valid[2], busy[2];
bit mark0[2], mark1[2];		/* ENTRY_CHANGED(), by parity */
byte sstate[2], sowner[2];	/* of a slot */
bit freeing[2];
byte free_seq[2];
byte changed_seq, dropped_seq;	/* of the volume */
bit vdirty, flush_failed;
byte flushing, flush_failures;
bit ro;				/* MODE_META_RO */

/* Changes: committed image, copy in flight.  Owners are 0, or 1 + extent. */
typedef change {
	bit on, open, inflight, deps, copy_deps;
	byte com_own, own;
	bit com_valid, valid;
};
change chg[2];
byte open_seq = 1, durable_seq, seq;

/* The log on disk: what is durable, and the blocks of the commit in flight. */
byte img_own[2];
bit img_valid[2];
bit blk[2];			/* written, perhaps on the medium; one block a slot */

/*
 * What users may see (done), and find after a loss of power (ok), by extent and
 * sector; snap: the same as a FLUSH under way will leave it.
 */
short done[4], ok[4], snap[8];

/*
 * CROSS: a write to extent 0 and a discard of it at the same time end in either
 * order; what did overlap proves nothing about what was before.
 */
bit writing, discarding, write_overlaps, discard_overlaps;
#ifdef CROSS
#define WRITE_BEGINS \
	if \
	:: me == 1 -> writing = 1; write_overlaps = discarding; \
		discard_overlaps = discard_overlaps | discarding \
	:: else \
	fi
#define WRITE_ENDS \
	if \
	:: me == 1 -> writing = 0; write_overlaps = 0 \
	:: else \
	fi
#define DISCARD_BEGINS discarding = 1; discard_overlaps = writing; \
	write_overlaps = write_overlaps | writing
#define DISCARD_ENDS discarding = 0; discard_overlaps = 0
#else
#define WRITE_BEGINS skip
#define WRITE_ENDS skip
#define DISCARD_BEGINS skip
#define DISCARD_ENDS skip
#endif
#define WRITE_COUNTS (me == 0 || !write_overlaps)

/* ---- changes (dm-tier-change.c) ---- */

/* The record of a slot as RAM has it, in two scratch variables. */
hidden byte new_own;
hidden byte new_valid;

inline newest(s)
{
	if
	:: sstate[s] == OWNED -> new_own = 1 + sowner[s]; new_valid = valid[sowner[s]]
	:: else -> new_own = 0; new_valid = 0
	fi
}

inline change_open(s, d)
{
	chg[s].deps = chg[s].deps | d;
	chg[s].open = 1
}

inline touch(s, d)
{
	if
	:: !chg[s].on ->
		chg[s].on = 1;
		newest(s);
		chg[s].com_own = new_own;
		chg[s].com_valid = new_valid
	:: else
	fi;
	change_open(s, d)
}

inline mark(x, q)
{
	changed_seq = q;
	if
	:: (q) & 1 -> mark1[x] = 1
	:: else -> mark0[x] = 1
	fi
}

/* ---- the data device ---- */

inline dev_write(i, v)
{
	cur[i] = v;
	may[i] = may[i] | v;
	if
	:: issued -> pend[i] = pend[i] | v
	:: else
	fi
}

inline dev_write_fua(i, v)
{
	cur[i] = v;
	may[i] = v;
	if
	:: issued -> pend[i] = v
	:: else
	fi
}

/* dm_tier_device_flush_request(): covers what was written before, so the next flush. */
inline flush_request(t)
{
	f_waiters++;
	t = f_started + 1;
	if
	:: f_wanted < t -> f_wanted = t
	:: else
	fi;
	if
	:: !f_running -> f_running = 1; f_started = t
	:: else
	fi
}

/* Nobody remembers a ticket: count from 0 again, which saves states. */
inline flush_forget()
{
	if
	:: !f_running && !f_waiters ->
		f_wanted = 0;
		f_started = 0;
		f_done = 0;
		f_ok = 0
	:: else
	fi
}

inline flush_ended()
{
	issued = 0;
	f_done = f_started;
	for (i : 0 .. 3) { pend[i] = 0 }
	i = 0;
	if
	:: f_wanted > f_started -> f_started = f_wanted
	:: else -> f_running = 0
	fi;
	flush_forget()
}

active proctype device()
{
	byte i;

end:	do
	:: d_step { f_running && !issued ->
		issued = 1;
		for (i : 0 .. 3) { pend[i] = cur[i] }
		i = 0
	   }
	   if
	   :: d_step {
		for (i : 0 .. 3) { may[i] = pend[i] }
		f_ok = f_started;
		flush_ended()
	      }
	   :: d_step { flush_errors > 0 ->
		flush_errors--;
		flush_ended()
	      }
	   fi
	od
}

/* ---- commits (dm-tier-meta.c) ---- */

inline take()
{
	deps = 0;
	for (s : 0 .. 1) {
		if
		:: chg[s].open ->
			newest(s);
			chg[s].own = new_own;
			chg[s].valid = new_valid;
			chg[s].copy_deps = chg[s].deps;
			deps = deps | chg[s].deps;
			chg[s].deps = 0;
			chg[s].open = 0;
			chg[s].inflight = 1
		:: else
		fi
	}
	s = 0;
	seq = open_seq;
	open_seq++
}

inline drop_failed()
{
	for (s : 0 .. 1) {
		if
		:: failed && chg[s].inflight && chg[s].own && chg[s].copy_deps ->
			change_open(s, 1);
			/* drop_bits(): nothing that is not durable yet */
			chg[s].valid = chg[s].valid && chg[s].com_own == chg[s].own &&
				       chg[s].com_valid;
			dropped_seq = seq;
			if
			:: entry[chg[s].own - 1] -> mark(chg[s].own - 1, open_seq)
			:: else
			fi
		:: else
		fi
	}
	s = 0;
	failed = 0
}

inline log_durable()
{
	for (s : 0 .. 1) {
		if
		:: chg[s].inflight ->
			img_own[s] = chg[s].own;
			img_valid[s] = chg[s].valid
		:: else
		fi;
		blk[s] = 0
	}
	s = 0
}

inline durable()
{
	for (s : 0 .. 1) {
		if
		:: chg[s].inflight ->
			chg[s].inflight = 0;
			chg[s].copy_deps = 0;
			if
			:: chg[s].own && (seq & 1) -> mark1[chg[s].own - 1] = 0
			:: chg[s].own && !(seq & 1) -> mark0[chg[s].own - 1] = 0
			:: else
			fi;
			if
			:: chg[s].open ->
				chg[s].com_own = chg[s].own;
				chg[s].com_valid = chg[s].valid
			:: else ->
				chg[s].on = 0;
				chg[s].com_own = 0;
				chg[s].com_valid = 0
			fi;
			chg[s].own = 0;
			chg[s].valid = 0
		:: else
		fi
	}
	s = 0;
	durable_seq = seq;
	ro = 0
}

active proctype commit()
{
	byte s, ticket;
	bit deps, failed;

end:	do
	:: d_step { chg[0].open || chg[1].open -> take() }
	   /* flush_deps(): what the copies expose */
#ifndef SKIP_DATA_FLUSH
	   if
	   :: deps ->
		d_step { flush_request(ticket) }
		if
		:: d_step { f_done >= ticket ->
			failed = f_ok < ticket;
			ticket = 0;
			f_waiters--;
			flush_forget()
		   }
		:: d_step { flush_errors > 0 ->		/* late */
			flush_errors--;
			failed = 1;
			ticket = 0;
			f_waiters--;
			flush_forget()
		   }
		fi
	   :: else
	   fi;
#endif
	   d_step { drop_failed(); deps = 0 }
	   /* write_log(), until it succeeds; the blocks in any order */
	   do
	   :: d_step { chg[0].inflight && !blk[0] -> blk[0] = 1 }
	   :: d_step { chg[1].inflight && !blk[1] -> blk[1] = 1 }
	   :: d_step { meta_errors > 0 && blk[0] == chg[0].inflight && blk[1] == chg[1].inflight ->
		meta_errors--;
		ro = 1
	      }
	   :: d_step { blk[0] == chg[0].inflight && blk[1] == chg[1].inflight -> log_durable() }
	      d_step { durable() }
	      break
	   od
	od
}

/* dm_tier_io_free_work(): a slot is free when its free is durable and drained. */
active proctype free_work()
{
	byte s;
	bit old;

end:	if
#ifdef REUSE_BEFORE_FREE
	:: atomic { freeing[0] -> s = 0 }
	:: atomic { freeing[1] -> s = 1 }
#else
	:: atomic { freeing[0] && free_seq[0] <= durable_seq -> s = 0 }
	:: atomic { freeing[1] && free_seq[1] <= durable_seq -> s = 1 }
#endif
	fi;
	if
	:: d_step { old = epoch; epoch = !epoch }
	fi;
	if
#ifdef FREE_WITHOUT_DRAIN
	:: d_step {
#else
	:: d_step { inflight[old] == 0 ->
#endif
		freeing[s] = 0;
		free_seq[s] = 0;
		sstate[s] = FREE;
		s = 0;
		old = 0
	   }
	fi;
	goto end
}

/* ---- users ---- */

inline submit(i, v)
{
	done[i] = done[i] | v;
	ok[i] = ok[i] | v;
	snap[i] = snap[i] | v;
	snap[4 + i] = snap[4 + i] | v
}

/* __dm_tier_io_place() and allocate() */
inline allocate(s)
{
	touch(s, 0);
	sstate[s] = OWNED;
	sowner[s] = x;
	entry[x] = 1 + s;
	valid[x] = 0;
	mark0[x] = 0;
	mark1[x] = 0;
	mark(x, open_seq)
}

inline new_value()
{
	v = FIRST << (me * OPS + n);
	submit(S(x, sec), v);
	WRITE_BEGINS;
	n++
}

#define ALL_OPS (me == 0 -> OPS : OPS1)
#define MARKED (mark0[x] || mark1[x])

/* What is done now is to be durable, and so are the changes that go with it. */
inline flush_begin()
{
	for (i : 0 .. 3) { snap[me * 4 + i] = done[i] }
	i = 0;
	wait_seq = changed_seq
}

inline discarded()
{
	if
	:: !discard_overlaps -> done[S(gone, 0)] = ZERO; done[S(gone, 1)] = ZERO
	:: else
	fi;
	DISCARD_ENDS
}

/* User me writes to sector sec of extent x, and discards extent gone; 2: none. */
proctype user(byte me; byte x; byte sec; byte gone)
{
	byte n, slot, wait_seq, ticket, failures, i;
	short v;
	bit fua, fua_data, ep, failed, then_write;

next:	do
	:: n == ALL_OPS -> break
	:: n < ALL_OPS ->
	   if
	   :: d_step { new_value() } goto write
	   :: d_step { fua = 1; new_value() } goto write
	   :: d_step { n++; flush_begin() } goto flush
	   :: d_step { gone < 2 ->
		n++;
		submit(S(gone, 0), ZERO);
		submit(S(gone, 1), ZERO);
		DISCARD_BEGINS
	      }
	      goto discard
	   fi;

	   /* -- a write: tier_map() -- */
write:	   if
	   :: d_step { entry[x] && valid[x] && !(fua && (MARKED || flush_failed)) ->
		slot = entry[x] - 1;
		ep = epoch;
		inflight[ep]++
	      }
	      goto fast
	   :: else
	   fi;
	   /* dm_tier_io_write() */
slow:	   if
	   :: d_step { fua && flush_failed -> then_write = 1; flush_begin() } goto flush
	   :: else
	   fi;
	   if
	   /* look_at_write(): valid, so through dm_tier_io_submit_mapped() */
	   :: d_step { entry[x] && valid[x] ->
		slot = entry[x] - 1;
		ep = epoch;
		inflight[ep]++;
		fua_data = fua			/* BIO_FUA_DATA, not BIO_FAST */
	      }
	      goto fast
	   :: d_step { !(entry[x] && valid[x]) && ro -> v = 0; fua = 0; WRITE_ENDS }
	      goto next				/* BLK_STS_IOERR */
	   :: d_step { entry[x] && !valid[x] && !ro && !busy[x] ->
		busy[x] = 1;
		slot = entry[x] - 1
	      }
	      goto first
	   :: d_step { !entry[x] && !ro && sstate[0] == FREE -> allocate(0) }
	      goto slow
	   :: d_step { !entry[x] && !ro && sstate[1] == FREE -> allocate(1) }
	      goto slow
	   fi;

fast:
#ifdef DIRTY_AT_SUBMISSION
	   vdirty = 1;
#endif
	   if
	   :: d_step { fua -> dev_write_fua(S(slot, sec), v) }
	   :: d_step { !fua -> dev_write(S(slot, sec), v) }
	   fi;
	   /* tier_end_io() */
#ifndef DIRTY_AT_SUBMISSION
	   vdirty = 1;
#endif
	   d_step { inflight[ep]--; ep = 0; slot = 0 }
	   if
	   /* dm_tier_io_fua_data_done() */
	   :: d_step { fua_data && MARKED -> fua_data = 0; wait_seq = changed_seq } goto fua_wait
	   :: d_step { !(fua_data && MARKED) -> fua_data = 0 } goto written
	   fi;

	   /* first_write_send(): zero_rest(), then the data */
first:	   if
#ifdef SKIP_ZEROING
	   :: skip
#else
	   :: d_step { dev_write(S(slot, 1 - sec), ZERO) }
#endif
	   fi;
	   d_step { ep = epoch; inflight[ep]++ }
#ifdef DIRTY_AT_SUBMISSION
	   vdirty = 1;
#endif
	   if
	   :: d_step { fua -> dev_write_fua(S(slot, sec), v) }
	   :: d_step { !fua -> dev_write(S(slot, sec), v) }
	   fi;
#ifndef DIRTY_AT_SUBMISSION
	   vdirty = 1;
#endif
	   d_step { inflight[ep]--; ep = 0 }
	   /* dm_tier_io_first_write_done() */
	   d_step {
		touch(slot, 1);
		mark(x, open_seq);
		wait_seq = open_seq;
		valid[x] = 1;
		busy[x] = 0;
		slot = 0
	   }
	   if
	   :: fua -> skip
	   :: else -> goto written
	   fi;

	   /* dm_tier_io_fua_done(): wait_commit() */
fua_wait:
#ifndef FUA_BEFORE_COMMIT
	   if
	   :: d_step { durable_seq >= wait_seq -> failed = dropped_seq >= wait_seq && wait_seq }
	   :: d_step { durable_seq < wait_seq && ro -> failed = 1 }
	   fi;
#endif
	   if
	   :: d_step { failed -> failed = 0; wait_seq = 0; v = 0; fua = 0; WRITE_ENDS } goto next
	   :: else
	   fi;

written:   if
	   :: d_step {
		if
		:: WRITE_COUNTS -> done[S(x, sec)] = v
		:: else
		fi;
		if
		:: WRITE_COUNTS && fua -> ok[S(x, sec)] = v
		:: else
		fi;
		WRITE_ENDS;
		fua = 0;
		v = 0;
		wait_seq = 0
	      }
	      goto next
	   fi;

	   /* -- dm_tier_io_flush(): the commits that hold changes, then the devices -- */
flush:	   if
	   :: d_step { durable_seq >= wait_seq -> failed = dropped_seq >= wait_seq && wait_seq }
	   :: d_step { durable_seq < wait_seq && ro -> failed = 1 }
	   fi;
	   /* flush_devices() */
	   if
	   :: d_step { vdirty || flushing ->
		failures = flush_failures;
		flushing++;
		vdirty = 0
	      }
	      d_step { flush_request(ticket) }
	      d_step { f_done >= ticket ->
		if
		:: f_ok < ticket -> vdirty = 1; failed = 1
		:: else
		fi;
		flushing--;
		ticket = 0;
		f_waiters--;
		flush_forget()
	      }
	   :: d_step { !vdirty && !flushing -> failures = flush_failures }
	   fi;
	   /* flush_volume() */
	   d_step {
		if
		:: failed -> flush_failures++
		:: else
		fi;
		if
		:: failed || failures == flush_failures -> flush_failed = failed
		:: else
		fi;
		if
		:: !failed -> for (i : 0 .. 3) { ok[i] = snap[me * 4 + i] & ok[i] }
		:: else
		fi;
		for (i : 0 .. 3) { snap[me * 4 + i] = 0 }
		i = 0;
		wait_seq = 0;
		failures = 0
	   }
	   if
	   :: d_step { then_write && !failed -> then_write = 0 } goto slow
	   :: d_step { then_write && failed -> then_write = 0; failed = 0; v = 0; fua = 0; WRITE_ENDS }
	   :: d_step { !then_write -> failed = 0 }
	   fi;
	   goto next;

	   /* -- dm_tier_io_discard() -- */
discard:   if
	   :: d_step { !entry[gone] && !ro -> discarded() }
	      goto next
	   :: d_step { ro -> DISCARD_ENDS }
	      goto next				/* no effect */
	   :: d_step { entry[gone] && !ro && !busy[gone] ->
		busy[gone] = 1;
		slot = entry[gone] - 1;
		touch(slot, 0);
		mark(gone, open_seq);
		valid[gone] = 0
	      }
	   fi;
	   if					/* pass_down(): as the device likes */
	   :: d_step { dev_write(S(slot, 0), ZERO); dev_write(S(slot, 1), ZERO) }
	   :: skip
	   fi;
	   d_step {				/* discard_end() */
		busy[gone] = 0;
		if
		:: !valid[gone] && !ro ->
			touch(slot, 0);
			changed_seq = open_seq;
			free_seq[slot] = open_seq;
			entry[gone] = 0;
			mark0[gone] = 0;
			mark1[gone] = 0;
			sstate[slot] = FREEING;
			freeing[slot] = 1
		:: else
		fi;
		slot = 0;
		discarded()
	   }
	od
}

/* ---- the invariant ---- */

/* Is block s of the commit in flight read back, if subset k of what is unflushed is there? */
#define THERE(s) (blk[s] && ((k >> (s)) & 1))
#define WHOLE (chg[0].inflight == THERE(0) && chg[1].inflight == THERE(1))
#ifdef NO_CRC_CHAIN
#define REPLAYED(s) THERE(s)
#else
#define REPLAYED(s) (THERE(s) && WHOLE)
#endif
#define R_OWN(s) (REPLAYED(s) -> chg[s].own : img_own[s])
#define R_VALID(s) (REPLAYED(s) -> chg[s].valid : img_valid[s])

inline recovered(i)
{
	if
	:: R_OWN(0) == 1 + (i) / 2 && R_VALID(0) -> m = may[S(0, (i) % 2)]
	:: R_OWN(1) == 1 + (i) / 2 && R_VALID(1) -> m = may[S(1, (i) % 2)]
	:: else -> m = ZERO
	fi
}

proctype power()
{
	byte i, k;
	short m;

end:	do
	:: d_step {
		for (k : 0 .. 3) {
			/* dm_tier_image_check(): no extent has two slots */
			assert(!R_OWN(0) || R_OWN(0) != R_OWN(1));
			for (i : 0 .. 3) {
				recovered(i);
				assert(!(m & ~ok[i]))
			}
		}
		/* And without a loss of power: a read now. */
		for (i : 0 .. 3) {
			if
			:: entry[i / 2] && valid[i / 2] -> m = cur[S(entry[i / 2] - 1, i % 2)]
			:: else -> m = ZERO
			fi;
			assert(m & done[i])
		}
		i = 0;
		k = 0;
		m = 0
	   }
	od
}

init
{
	byte i;

	d_step {
		for (i : 0 .. 3) {
			cur[i] = GARBAGE;
			ok[i] = ZERO
		}
#ifndef FRESH
		for (i : 0 .. 1) {
			cur[i] = OLD(i);
			ok[i] = OLD(i)
		}
		entry[0] = 1;
		valid[0] = 1;
		sstate[0] = OWNED;
		img_own[0] = 1;
		img_valid[0] = 1;
#endif
		for (i : 0 .. 3) {
			may[i] = cur[i];
			done[i] = ok[i]
		}
		i = 0
	}
#ifdef SHARED
	atomic { run power(); run user(0, 0, 0, 2); run user(1, 0, 1, 2) }
#elif defined(CROSS)
	atomic { run power(); run user(0, 1, 1, 0); run user(1, 0, 0, 2) }
#else
	atomic { run power(); run user(0, 0, 0, 0); run user(1, 1, 0, 1) }
#endif
}
