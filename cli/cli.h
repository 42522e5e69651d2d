/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every command has: its description, its options and words, how it speaks
 * and how it ends.
 *
 * A command is a struct cli_command in the table of main.c and a function in
 * cmd_<verb>.c. The function takes options with cli_next_option() until there
 * are none, checks everything it was given, then looks at the system, and only
 * then changes something. It says what is wrong itself, once, and returns an
 * exit code; nothing below it prints.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As lvm2. */
enum cli_exit {
	CLI_DONE = -1,		/* nothing more to do (help was shown): main() makes it 0 */
	CLI_OK = 0,
	CLI_NO_COMMAND = 2,
	CLI_BAD_LINE = 3,
	CLI_FAILED = 5
};

/* Options without a letter have ids from here. */
#define CLI_LONG_ONLY	256

struct cli_option {
	int id;			/* the letter, or a number from CLI_LONG_ONLY on */
	const char *name;	/* the long name, or NULL */
	const char *value;	/* what the help calls its value; NULL = it takes none */
	const char *help;
};

struct cli;

struct cli_command {
	const char *name;
	bool is_applet;			/* also a command of its own */
	const char *summary;
	const char *needed;		/* options that it does not go without, for the help; or NULL */
	const char *words;		/* what the help calls what is not an option */
	int min_words, max_words;	/* max < 0: any number */
	const struct cli_option *options;	/* ended by id 0, or NULL */
	enum cli_exit (*run)(struct cli *cli);
};

/* One invocation. */
struct cli {
	const struct cli_command *command;
	int argc;
	char **argv;
	/* -y -t -q -v, valid when cli_next_option() has returned 0. */
	bool yes;
	bool test;		/* say what would be done, change nothing */
	bool quiet;
	int verbose;
	bool is_silent;		/* errors are not said: the caller goes on without */
	/* Of the option just taken. */
	const char *value;
	/* What is not an option, valid with the above. */
	char **words;
	int nr_words;
	/* When cli_next_option() returned -1; never CLI_OK. */
	enum cli_exit exit;
};

/*
 * The id of the next option, its value in cli->value; 0 when all are taken and
 * the words are as many as they should be; -1 to end with cli->exit (help was
 * asked for, or something was wrong and has been said).
 */
int cli_next_option(struct cli *cli);

/*
 * Say what is wrong: "<command>: <message>" and on a line of its own what to do
 * next (NULL: nothing sensible). They return the exit code of their name.
 */
__attribute__((format(printf, 3, 4)))
enum cli_exit cli_bad_line(const struct cli *cli, const char *next, const char *format, ...);
__attribute__((format(printf, 3, 4)))
enum cli_exit cli_failed(const struct cli *cli, const char *next, const char *format, ...);
/* The same for something that does not end the command. */
__attribute__((format(printf, 2, 3)))
void cli_warn(const struct cli *cli, const char *format, ...);

/* Results and progress, not with -q; details, only with -v. Both on stdout. */
__attribute__((format(printf, 2, 3)))
void cli_say(const struct cli *cli, const char *format, ...);
__attribute__((format(printf, 2, 3)))
void cli_detail(const struct cli *cli, const char *format, ...);

/* In words, of 0 or -errno. */
const char *cli_reason(int error);

/*
 * Whether to go on with something that destroys: -y, or y at a prompt on a
 * terminal. Otherwise false, and it has been said why not.
 */
__attribute__((format(printf, 2, 3)))
bool cli_confirm(const struct cli *cli, const char *format, ...);

/*
 * One changing command at a time on this machine: waits for the others, and says
 * so. Held until the process ends, and so are signals that would end it, but at
 * a question. 0 or -errno.
 */
int cli_lock(const struct cli *cli);
/* Lets others in while something takes long. Signals stay held. */
void cli_unlock(void);

/* Sizes (units.c) -----------------------------------------------------------*/

/*
 * "10g", "1.5t", "512s", "64KiB": a number and a unit of b s k m g t p e, in any
 * case, powers of 1024; without one, m. Rounded up to sectors. -EINVAL, -ERANGE
 * (0, or more than fit).
 */
int cli_parse_size(const char *text, uint64_t *ret_sectors);

/*
 * A size as lvm2 writes it: `unit` is one of h (the fitting one), b s k m g t p
 * e, capital for powers of 1000. Returns ret_text.
 */
#define CLI_SIZE_TEXT	32
const char *cli_format_size(uint64_t sectors, char unit, bool suffix, char *ret_text);
bool cli_is_unit(char unit);
/* With h and a suffix. */
const char *cli_size(uint64_t sectors, char *ret_text);

/* ", about 1:02:03 hours", to be put behind what takes so long; "" for 0, which is not known. */
#define CLI_ESTIMATE_TEXT	48
const char *cli_estimate(uint64_t seconds, char *ret_text);

/* The commands (cmd_*.c) ------------------------------------------------------*/

extern const struct cli_command cmd_tpcreate, cmd_tpextend, cmd_tpreduce, cmd_tpchange, cmd_tpremove;
extern const struct cli_command cmd_tps;
extern const struct cli_command cmd_tpcheck, cmd_tpdump, cmd_tprestore, cmd_tprepair;
extern const struct cli_command cmd_tvcreate, cmd_tvextend, cmd_tvchange, cmd_tvremove;
extern const struct cli_command cmd_tvrename, cmd_tvs, cmd_tes;
extern const struct cli_command cmd_relocate, cmd_plan, cmd_status, cmd_pause, cmd_resume;
extern const struct cli_command cmd_abort, cmd_reload, cmd_heatmap,
	cmd_identify;

#endif
