/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metadata device: log ring, checkpoints, superblocks, load and activation,
 * with a crash at every step, also of a load.  README.md maps the steps to
 * functions and says what is left out.
 *
 * State is two records, a and b.  Each commit, of one or two blocks, writes its
 * version to both, as a move does with its two slots: after any load they are
 * equal.  COMMITS commits, CHECKPOINTS checkpoints and CRASHES crashes happen,
 * at any moment.
 *
 * A block that was written and not flushed reads as its old content, as its new
 * one or as neither (torn), and each load may read another of them: so do the
 * legs of a mirror after a crash, and a drive's cache before and after a loss of
 * power.  Only a flush after a write decides.
 *
 * A block is named by a number, which stands for its crc: two blocks with the
 * same number are the same bytes.
 *
 * Broken rules: NO_CRC_CHAIN (replay whatever block comes next), NO_REWRITE (of
 * the last commit and the superblock at load), NO_INCARNATION (activate with the
 * old one), LATE_START (a checkpoint starts with the commit number of its end),
 * NO_AREA_FLUSH (before the superblock), SAME_PLACE (one place for superblocks).
 * NO_PREV_CRC leaves out the comparison with the crc of the block before only.
 */
#ifndef COMMITS
#define COMMITS 4
#endif
#ifndef CHECKPOINTS
#define CHECKPOINTS 2
#endif
#ifndef CRASHES
#define CRASHES 2
#endif

#define RING		(6 + CRASHES)	/* blocks of the log */
#define COMMIT_BLOCKS	2	/* of a commit, at most */

/* A place on disk: what it held, and what was written to it and not flushed. */
typedef place { byte old, new; bit open };
place ring[RING];		/* numbers of log blocks */
place area[4];			/* two blocks of each area: version * 16 + checkpoint id */
place super[2];			/* numbers of superblocks */

/* Log blocks by number; 0 is none. */
#define BLOCKS (2 * COMMITS + CRASHES + 2)
typedef block { byte inc, commit, prev, version; bit index, two, activate };
block b[BLOCKS];
byte nr_blocks = 1;

/* Superblocks by number; 0 is none.  [0] is the newer checkpoint, [1] the older. */
#define SUPERS (CHECKPOINTS + 2)
typedef superblock { byte version, final_seq, id[2], seq[2], position[2], prev[2]; bit ar[2] };
superblock sb[SUPERS];
byte nr_supers = 1;

/* RAM of the pool that is up; the superblock in use is sb[used]. */
bit up, crashed;
bit working[2];			/* a commit, a checkpoint is under way: a crash ends it */
byte inc, durable_seq, position, prev, since_tail, since_ckpt, next_id, used, rec_a, rec_b;
bit used_place;
bit newer;			/* which of its checkpoints the pool goes on from: 1 after a fallback */
byte commits, checkpoints, crashes;

/*
 * Versions.  acked: durable, and somebody knows.  floor: what the last load that
 * came up showed; what was written up to dead and is not floor must not come back.
 */
byte version, acked, floor, dead;

inline write(p, what)
{
	/* What may still be there of the writes before: one of them. */
	if
	:: p.open -> p.old = p.new
	:: p.open -> p.old = 0
	:: true
	fi;
	p.new = what;
	p.open = 1
}

inline flushed(p)
{
	p.old = (p.open -> p.new : p.old);
	p.new = 0;
	p.open = 0
}

/* A number of a log block; its content is set by the caller. */
inline new_block(n)
{
	n = nr_blocks;
	nr_blocks++
}

/*
 * __dm_tier_meta_log_full(): room for one more commit and for activations, of
 * which there are more in the code (256) than crashes here.
 */
#define LOG_FULL (RING <= since_tail + COMMIT_BLOCKS + CRASHES + 1)
#define NEXT(p) (((p) + 1) % RING)

active proctype power()
{
end:	do
	:: d_step { crashes < CRASHES && !crashed ->
		crashes++;
		crashed = 1;
		up = 0
	   }
	od
}

/* ---- commits (dm-tier-meta.c) ---- */

inline seal(n, i, t, act, p, v)
{
	new_block(n);
	b[n].inc = inc;
	b[n].commit = durable_seq + 1;
	b[n].index = i;
	b[n].two = t;
	b[n].activate = act;
	b[n].prev = p;
	b[n].version = v
}

inline advance(last, count)
{
	durable_seq++;
	position = (position + count) % RING;
	since_tail = since_tail + count;
	since_ckpt = since_ckpt + count;
	prev = last
}

active proctype committer()
{
	byte one, two;

end:	do
	:: {
end_in:	   do
	   :: atomic { up && commits < COMMITS && !LOG_FULL ->
		working[0] = 1;
		commits++;
		version++;
		if
		:: seal(one, 0, 0, 0, prev, version)
		:: seal(one, 0, 1, 0, prev, version); seal(two, 1, 1, 0, one, version)
		fi
	      }
	      /* write_log(): in any order */
	      if
	      :: two ->
		 if
		 :: atomic { write(ring[position], one) } atomic { write(ring[NEXT(position)], two) }
		 :: atomic { write(ring[NEXT(position)], two) } atomic { write(ring[position], one) }
		 fi
	      :: else -> atomic { write(ring[position], one) }
	      fi;
	      /* the flush, and durable() */
	      atomic {
		flushed(ring[position]);
		if
		:: two -> flushed(ring[NEXT(position)]); advance(two, 2)
		:: else -> advance(one, 1)
		fi;
		rec_a = version;
		rec_b = version;
		acked = version;
		one = 0;
		two = 0;
		working[0] = 0
	      }
	   od
	   } unless { atomic { !up -> one = 0; two = 0; working[0] = 0 } };
end_up:	   up
	od
}

/* ---- checkpoints (dm-tier-checkpoint.c) ---- */

active proctype checkpointer()
{
	byte id, since, seq, pos, crc, n;
	bit ar;

end:	do
	:: {
end_in:	   do
	   /* begin() */
	   :: atomic { up && checkpoints < CHECKPOINTS ->
		working[1] = 1;
		checkpoints++;
		id = next_id;
		next_id++;
		ar = !sb[used].ar[newer];
		since = since_ckpt;
		seq = durable_seq;
		pos = position;
		crc = prev;
		since_tail = since_ckpt
	      }
	      /* write_area(): record by record, as is durable then */
	      atomic { write(area[ar * 2], rec_a * 16 + id) }
	      atomic { write(area[ar * 2 + 1], rec_b * 16 + id) }
#ifndef NO_AREA_FLUSH
	      atomic { flushed(area[ar * 2]); flushed(area[ar * 2 + 1]) }
#endif
	      /* write_super() */
	      atomic {
#ifdef LATE_START
		since = since_ckpt;
		seq = durable_seq;
		pos = position;
		crc = prev;
#endif
		n = nr_supers;
		nr_supers++;
		sb[n].version = sb[used].version + 1;
		sb[n].final_seq = durable_seq;
		sb[n].id[0] = id;
		sb[n].seq[0] = seq;
		sb[n].position[0] = pos;
		sb[n].prev[0] = crc;
		sb[n].ar[0] = ar;
		sb[n].id[1] = sb[used].id[newer];
		sb[n].seq[1] = sb[used].seq[newer];
		sb[n].position[1] = sb[used].position[newer];
		sb[n].prev[1] = sb[used].prev[newer];
		sb[n].ar[1] = sb[used].ar[newer];
#ifdef SAME_PLACE
		used_place = !used_place;
#endif
		write(super[!used_place], n)
	      }
	      /* its flush, and complete_ckpt() */
	      atomic {
		flushed(super[!used_place]);
#ifdef NO_AREA_FLUSH
		flushed(area[ar * 2]);
		flushed(area[ar * 2 + 1]);
#endif
		used = n;
		used_place = !used_place;
		newer = 0;
		since_tail = since_ckpt;
		since_ckpt = since_ckpt - since;
		n = 0; id = 0; since = 0; seq = 0; pos = 0; crc = 0; ar = 0;
		working[1] = 0
	      }
	   od
	   } unless {
	   atomic { !up ->
		n = 0; id = 0; since = 0; seq = 0; pos = 0; crc = 0; ar = 0;
		working[1] = 0
	   } };
end_up:	   up
	od
}

/* ---- load (dm-tier-load.c, dm-tier-replay.c) ---- */

/* What a load reads. */
byte log_rd[RING], area_rd[4], super_rd[2];

inline read(p, into)
{
	if
	:: into = p.old
	:: p.open -> into = p.new
	:: p.open -> into = 0
	fi
}

/* Block n of the ring, as read, p blocks after the position of the replay. */
#define AT(p) log_rd[(rp + (p)) % RING]
#ifdef NO_PREV_CRC
#define CHAINED(n, crc) true
#else
#define CHAINED(n, crc) (b[n].prev == (crc))
#endif

/* head_follows() of commit_is_whole() */
#define FOLLOWS(n) ((n) && b[n].commit == rc + 1 && \
	(!ri || b[n].inc == ri || (b[n].inc > ri && b[n].activate)))
#define WHOLE (FOLLOWS(AT(0)) && !b[AT(0)].index && CHAINED(AT(0), rcrc) && \
	(!b[AT(0)].two || (AT(1) && b[AT(1)].commit == rc + 1 && \
		b[AT(1)].inc == b[AT(0)].inc && b[AT(1)].index && b[AT(1)].two && \
		CHAINED(AT(1), AT(0)))))

inline apply(n)
{
	if
	:: b[n].activate
	:: !b[n].activate && b[n].two && b[n].index -> rec_b = b[n].version
	:: !b[n].activate && b[n].two && !b[n].index -> rec_a = b[n].version
	:: !b[n].activate && !b[n].two -> rec_a = b[n].version; rec_b = b[n].version
	fi
}

inline replay()
{
	last = 0;
	count = 0;
	/* incarnation_before() */
	i = log_rd[(rp + RING - 1) % RING];
	ri = (i && i == rcrc && b[i].commit == rc -> b[i].inc : 0);
#ifdef NO_CRC_CHAIN
	do
	:: AT(0) && (b[AT(0)].commit == rc || b[AT(0)].commit == rc + 1) && b[AT(0)].inc >= ri ->
		apply(AT(0));
		ri = b[AT(0)].inc;
		rc = b[AT(0)].commit;
		rcrc = AT(0);
		last = rp;
		count = 1;
		rp = NEXT(rp)
	:: else -> break
	od;
#else
	do
	:: WHOLE ->
		apply(AT(0));
		last = rp;
		count = 1;
		ri = b[AT(0)].inc;
		rcrc = AT(0);
		if
		:: b[AT(0)].two -> apply(AT(1)); rcrc = AT(1); count = 2
		:: else
		fi;
		rc++;
		rp = (rp + count) % RING
	:: else -> break
	od;
#endif
	/* scan_ring(): nothing that a crash leaves is damage */
	max_inc = ri;
	assert(rc >= sb[used].final_seq);
	for (i : 0 .. RING - 1) {
		if
		:: log_rd[i] ->
			max_inc = (b[log_rd[i]].inc > max_inc -> b[log_rd[i]].inc : max_inc);
			assert(!(b[log_rd[i]].commit > rc + 1 && b[log_rd[i]].inc >= ri))
		:: else
		fi
	}
}

/* dm_tier_read_super(), read_state() */
inline load()
{
	assert(super_rd[0] || super_rd[1]);
	used_place = !super_rd[0] || (super_rd[1] &&
			sb[super_rd[1]].version > sb[super_rd[0]].version);
	used = super_rd[used_place];
	c = 0;
	do
	:: c == 2 || !sb[used].id[c] -> assert(false)	/* no checkpoint is whole */
	:: c < 2 && sb[used].id[c] ->
		i = sb[used].ar[c] * 2;
		if
		:: area_rd[i] % 16 == sb[used].id[c] && area_rd[i + 1] % 16 == sb[used].id[c] ->
			break
		:: else -> c++
		fi
	od;
	rec_a = area_rd[i] / 16;
	rec_b = area_rd[i + 1] / 16;
	rp = sb[used].position[c];
	rc = sb[used].seq[c];
	rcrc = sb[used].prev[c];
	replay();

	/* What must hold of every load. */
	assert(rec_a == rec_b);
	assert(rec_a >= acked);
	assert(rec_a == floor || rec_a > dead)
}

/* activate() */
inline ring_distance(k) { dist = (rp + RING - sb[used].position[k]) % RING }

inline set_ram()
{
	newer = c;
	inc = max_inc;
#ifndef NO_INCARNATION
	inc++;
#endif
	next_id = (sb[used].id[0] > sb[used].id[1] -> sb[used].id[0] : sb[used].id[1]) + 1;
	next_id = (inc * 4 > next_id -> inc * 4 : next_id);
	durable_seq = rc;
	position = rp;
	prev = rcrc;
	ring_distance(newer);
	since_ckpt = dist;
	since_tail = dist;
	if
	:: !newer && sb[used].id[1] -> ring_distance(1); since_tail = (dist > since_tail -> dist : since_tail)
	:: else
	fi;
	assert(since_ckpt + 1 < RING)
}

active proctype host()
{
	byte i, c, rp, rc, rcrc, ri, last, count, max_inc, dist, n, l0, l1;

	/* As formatted: one checkpoint, an empty log. */
	d_step {
		sb[1].version = 1;
		sb[1].id[0] = 1;
		sb[1].position[0] = 2;
		super[0].old = 1;
		area[0].old = 1;
		area[1].old = 1;
		nr_supers = 2
	}
reload:	atomic {
		!working[0] && !working[1];
		for (i : 0 .. RING - 1) { read(ring[i], log_rd[i]) }
		for (i : 0 .. 3) { read(area[i], area_rd[i]) }
		for (i : 0 .. 1) { read(super[i], super_rd[i]) }
		d_step {
			load();
			set_ram();
			l0 = (count > 0 -> log_rd[last] : 0);
			l1 = (count > 1 -> log_rd[NEXT(last)] : 0);
			for (i : 0 .. RING - 1) { log_rd[i] = 0 }
			for (i : 0 .. 3) { area_rd[i] = 0 }
			super_rd[0] = 0;
			super_rd[1] = 0;
			i = 0; c = 0; rp = 0; rc = 0; rcrc = 0; ri = 0; max_inc = 0; dist = 0
		}
	}
	{
#ifndef NO_REWRITE
	/* rewrite(): byte by byte what was read; the same bytes over themselves change nothing */
	if
	:: super[used_place].open -> atomic { write(super[used_place], used) }
	:: else
	fi;
	if
	:: l0 && ring[last].open -> atomic { write(ring[last], l0) }
	:: else
	fi;
	if
	:: l1 && ring[NEXT(last)].open -> atomic { write(ring[NEXT(last)], l1) }
	:: else
	fi;
	atomic {
		flushed(super[used_place]);
		if
		:: l0 -> flushed(ring[last])
		:: else
		fi;
		if
		:: l1 -> flushed(ring[NEXT(last)])
		:: else
		fi
	}
#endif
	/* dm_tier_meta_activate() */
	atomic {
		last = 0; count = 0; l0 = 0; l1 = 0;
		seal(n, 0, 0, 1, prev, 0);
		write(ring[position], n)
	}
	atomic {
		flushed(ring[position]);
		advance(n, 1);
		n = 0;
		floor = rec_a;
		dead = version;
		acked = rec_a;
		up = 1
	}
end:	false
	} unless {
		atomic { crashed ->
			crashed = 0;
			last = 0; count = 0; n = 0; l0 = 0; l1 = 0
		}
	};
	goto reload
}
