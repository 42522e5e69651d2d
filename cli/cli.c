// SPDX-License-Identifier: GPL-2.0-only
/* Options, messages and exit codes: what is the same in every command. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "backend.h"
#include "util.h"

/* Not in /run/lock, where everyone may make files: whoever has this one stops all commands. */
#define LOCK_FILE	"/run/dm-tier.lock"
#define MAX_OPTIONS	64

enum { OPTION_VERSION = CLI_LONG_ONLY + 1000 };

static const struct cli_option common_options[] = {
	{ 'h', "help", NULL, "show this" },
	{ 'q', "quiet", NULL, "say nothing but errors" },
	{ 't', "test", NULL, "check everything, say what would be done, change nothing" },
	{ 'v', "verbose", NULL, "say more" },
	{ 'y', "yes", NULL, "answer every question with yes" },
	{ OPTION_VERSION, "version", NULL, "show the version" },
	{ 0 }
};

static void help_option(const struct cli_option *option)
{
	char text[64], letter[] = { '-', (char)option->id, '\0' };

	snprintf(text, sizeof(text), "%s%s%s%s%s%s", option->id < CLI_LONG_ONLY ? letter : "  ",
		 option->name && option->id < CLI_LONG_ONLY ? "," : " ",
		 option->name ? " --" : "", option->name ? option->name : "",
		 option->value ? " " : "", option->value ? option->value : "");
	printf("  %-28s %s\n", text, option->help);
}

static bool takes_size(const struct cli_command *command)
{
	for (const struct cli_option *o = command->options; o && o->id; o++)
		if (o->value && strstr(o->value, "SIZE"))
			return true;
	return false;
}

static void help(const struct cli_command *command)
{
	printf("%s - %s\n\nUsage: %s%s%s%s [options]%s%s\n\n", command->name,
	       command->summary, command->is_applet ? "" : "tierctl ", command->name,
	       command->needed ? " " : "", command->needed ? command->needed : "",
	       *command->words ? " " : "", command->words);
	for (const struct cli_option *o = command->options; o && o->id; o++)
		help_option(o);
	for (const struct cli_option *o = common_options; o->id; o++)
		help_option(o);
	printf("\n%sExit code: 0 done, 3 bad command line, 5 failed.\n"
	       "See also %s(8), dm-tier(7).\n", takes_size(command) ?
	       "Sizes: a number and one of b s k m g t p e (powers of 1024; none: m).\n" : "",
	       command->is_applet ? command->name : "tierctl");
}

/* The tables in getopt's terms. `letters` begins with ':' = tell a missing value apart. */
static void build_getopt(const struct cli_command *command, char *ret_letters,
			 struct option *ret_longs)
{
	const struct cli_option *tables[] = { command->options, common_options };
	size_t longs = 0;

	*ret_letters++ = ':';
	for (size_t i = 0; i < TIER_NR(tables); i++) {
		for (const struct cli_option *o = tables[i]; o && o->id; o++) {
			if (o->id < CLI_LONG_ONLY) {
				*ret_letters++ = (char)o->id;
				if (o->value)
					*ret_letters++ = ':';
			}
			if (o->name)
				ret_longs[longs++] = (struct option){
					.name = o->name,
					.has_arg = o->value ? required_argument : no_argument,
					.val = o->id,
				};
		}
	}
	*ret_letters = '\0';
	ret_longs[longs] = (struct option){ 0 };
}

/* A word that is there twice counts once, where there may be any number. */
static void drop_doubled_words(struct cli *cli)
{
	int kept = 0;

	for (int i = 0; i < cli->nr_words; i++) {
		int j = 0;

		while (j < kept && strcmp(cli->words[j], cli->words[i]))
			j++;
		if (j == kept)
			cli->words[kept++] = cli->words[i];
	}
	cli->nr_words = kept;
}

static int end_options(struct cli *cli)
{
	const struct cli_command *command = cli->command;

	cli->words = cli->argv + optind;
	cli->nr_words = cli->argc - optind;
	if (command->max_words < 0)
		drop_doubled_words(cli);
	if (cli->nr_words < command->min_words) {
		cli->exit = cli_bad_line(cli, "The option -h shows how it is used.",
					 "%s is missing", command->words);
		return -1;
	}
	if (command->max_words >= 0 && cli->nr_words > command->max_words) {
		cli->exit = cli_bad_line(cli, "The option -h shows how it is used.",
					 "'%s' is one word too many",
					 cli->words[command->max_words]);
		return -1;
	}
	return 0;
}

/* What getopt calls the option that it did not like. */
static const char *culprit(const struct cli *cli, char *ret_letter)
{
	if (optopt > 0 && optopt < CLI_LONG_ONLY) {
		const char *word = cli->argv[optind - 1];

		/* A long one that has a letter too, as the user wrote it. */
		if (!strncmp(word, "--", 2))
			return word;
		ret_letter[1] = (char)optopt;
		return ret_letter;
	}
	return cli->argv[optind - 1];
}

int cli_next_option(struct cli *cli)
{
	char letters[2 * MAX_OPTIONS + 2], letter[] = "-?";
	struct option longs[MAX_OPTIONS + 1];

	build_getopt(cli->command, letters, longs);
	opterr = 0;
	for (;;) {
		int id = getopt_long(cli->argc, cli->argv, letters, longs, NULL);

		cli->value = optarg;
		switch (id) {
		case -1:
			return end_options(cli);
		case 'h':
			help(cli->command);
			cli->exit = CLI_DONE;
			return -1;
		case OPTION_VERSION:
			printf("%s (dm-tier) " TIER_VERSION "\n",
			       cli->command->is_applet ? cli->command->name : "tierctl");
			cli->exit = CLI_DONE;
			return -1;
		case 'q':
			cli->quiet = true;
			break;
		case 't':
			cli->test = true;
			break;
		case 'v':
			cli->verbose++;
			break;
		case 'y':
			cli->yes = true;
			break;
		case '?':
			cli->exit = cli_bad_line(cli, "The option -h lists the options.",
						 "there is no option '%s' (or it takes no value)",
						 culprit(cli, letter));
			return -1;
		case ':':
			cli->exit = cli_bad_line(cli, "The option -h lists the options.",
						 "the option '%s' needs a value",
						 culprit(cli, letter));
			return -1;
		default:
			return id;
		}
	}
}

__attribute__((format(printf, 3, 0)))
static void say_error(const struct cli *cli, const char *next, const char *format,
		      va_list arguments)
{
	if (cli->is_silent)
		return;
	fflush(stdout);
	fprintf(stderr, "%s%s: ", cli->command->is_applet ? "" : "tierctl ", cli->command->name);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	if (next)
		fprintf(stderr, "  %s\n", next);
}

enum cli_exit cli_bad_line(const struct cli *cli, const char *next, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_error(cli, next, format, arguments);
	va_end(arguments);
	return CLI_BAD_LINE;
}

enum cli_exit cli_failed(const struct cli *cli, const char *next, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_error(cli, next, format, arguments);
	va_end(arguments);
	return CLI_FAILED;
}

void cli_warn(const struct cli *cli, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say_error(cli, NULL, format, arguments);
	va_end(arguments);
}

void cli_say(const struct cli *cli, const char *format, ...)
{
	va_list arguments;

	if (cli->quiet)
		return;
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

void cli_detail(const struct cli *cli, const char *format, ...)
{
	va_list arguments;

	if (cli->quiet || !cli->verbose)
		return;
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

const char *cli_reason(int error)
{
	switch (-error) {
	case EPROTO:
		return "the kernel's answer is not understood: module and tools do not fit together";
	case ENODATA:
		return TIER_NOT_LOADED_TEXT;
	case EOPNOTSUPP:
		return "this kernel has no device-mapper";
	case EROFS:
		return "the pool's metadata cannot be written now";
	case EPERM:
	case EACCES:
		return geteuid() ? "permission denied: this needs root" : "permission denied";
	default:
		return strerror(-error);
	}
}

/*
 * Signals wait while a command changes something (LVM's do, too): half of a change
 * helps nobody. They may come in at a question.
 */
static void hold_signals(int how)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGTSTP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < TIER_NR(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(how, &set, NULL);
}

static bool read_yes(void)
{
	char answer[16] = "";

	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

bool cli_confirm(const struct cli *cli, const char *format, ...)
{
	va_list arguments;
	bool is_yes;

	if (cli->yes || cli->test)
		return true;
	fflush(stdout);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	if (!isatty(STDIN_FILENO)) {
		fputs("\n  Nobody to ask here: nothing was done. The option -y answers yes.\n", stderr);
		return false;
	}
	fputs(" [y/n]: ", stderr);
	hold_signals(SIG_UNBLOCK);
	is_yes = read_yes();
	hold_signals(SIG_BLOCK);
	if (!is_yes)
		fputs("  Nothing was done.\n", stderr);
	return is_yes;
}

/* Its lock goes with the process, or by cli_unlock(). */
static int lock_fd = -1;

int cli_lock(const struct cli *cli)
{
	int fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return -errno;
		cli_warn(cli, "waiting for another command to end");
		while (flock(fd, LOCK_EX))
			if (errno != EINTR)
				return -errno;
	}
	lock_fd = fd;
	hold_signals(SIG_BLOCK);
	return 0;
}

void cli_unlock(void)
{
	tier_cleanup_close(&lock_fd);
	lock_fd = -1;
}
