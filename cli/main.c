// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command table. One program: called by the name of an applet it is that
 * command (tpcreate ...), called tierctl its first word names one.
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#include "util.h"

static const struct cli_command *const commands[] = {
	&cmd_tpcreate, &cmd_tpextend, &cmd_tpreduce, &cmd_tpchange, &cmd_tpremove, &cmd_tps,
	&cmd_tpcheck, &cmd_tpdump, &cmd_tprestore, &cmd_tprepair,
	&cmd_tvcreate, &cmd_tvextend, &cmd_tvchange, &cmd_tvremove, &cmd_tvrename, &cmd_tvs,
	&cmd_tes,
	&cmd_relocate, &cmd_plan, &cmd_status, &cmd_pause, &cmd_resume, &cmd_abort, &cmd_reload,
	&cmd_heatmap, &cmd_identify,
};

static const struct cli_command *find_command(const char *name, bool applets_only)
{
	for (size_t i = 0; i < TIER_NR(commands); i++)
		if (!strcmp(commands[i]->name, name) && (commands[i]->is_applet || !applets_only))
			return commands[i];
	return NULL;
}

static void help_commands(bool applets)
{
	for (size_t i = 0; i < TIER_NR(commands); i++)
		if (commands[i]->is_applet == applets)
			printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
}

static void help(void)
{
	printf("tierctl - pools and volumes of storage tiers\n\n"
	       "Usage: tierctl <command> [options]\n\n"
	       "Relocation and pictures:\n");
	help_commands(false);
	printf("\nPools (tp...), volumes (tv...), extents (te...): programs of their own, too, so\n"
	       "`tierctl tps` is `tps`:\n");
	help_commands(true);
	printf("\nThe option -h after a command describes it. See also tierctl(8), dm-tier(7).\n");
}

static enum cli_exit no_command(const char *name)
{
	if (*name == '-') {
		fprintf(stderr, "tierctl: options come after a command, '%s' comes before\n"
			"  `tierctl -h` lists the commands.\n", name);
		return CLI_BAD_LINE;
	}
	fprintf(stderr, "tierctl: there is no command '%s'\n  `tierctl -h` lists the commands.\n",
		name);
	return CLI_NO_COMMAND;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, "--help") || !strcmp(word, "help");
}

static enum cli_exit run(const struct cli_command *command, int argc, char **argv)
{
	struct cli cli = { .command = command, .argc = argc, .argv = argv };
	enum cli_exit code = command->run(&cli);

	/* Results that did not get to where they should are no results. */
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "%s: cannot write the output\n", command->name);
		return CLI_FAILED;
	}
	return code == CLI_DONE ? CLI_OK : code;
}

int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "tierctl";
	const struct cli_command *command = find_command(name, true);

	if (!tier_have_standard_files())
		return CLI_FAILED;
	if (command)
		return run(command, argc, argv);
	if (argc < 2) {
		help();
		return CLI_BAD_LINE;
	}
	if (is_help(argv[1])) {
		char option[] = "-h", *help_of[] = { argv[0], option, NULL };

		if (argc == 2 || is_help(argv[2])) {
			help();
			return CLI_OK;
		}
		command = find_command(argv[2], false);
		return command ? run(command, 2, help_of) : no_command(argv[2]);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		printf("tierctl (dm-tier) " TIER_VERSION "\n");
		return CLI_OK;
	}
	command = find_command(argv[1], false);
	if (command)
		return run(command, argc - 1, argv + 1);
	return no_command(argv[1]);
}
