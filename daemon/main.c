// SPDX-License-Identifier: GPL-2.0-only
/* tierd(8): the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "log.h"
#include "loop.h"
#include "util.h"

#define DEFAULT_CONFIG	TIER_SYSCONFDIR "/tierd.conf"
#define DEFAULT_STATE	"/var/lib/tierd"

/* As lvm2's. */
#define EXIT_BAD_COMMAND_LINE	3
#define EXIT_FAILED		5
/* tierd.service does not start it again: that would not help. */
#define EXIT_BAD_CONFIG		6

static const char help[] =
	"tierd - moves the hot extents of tier pools up and the cold ones down\n"
	"\n"
	"Usage: tierd [--config FILE] [--foreground] [--debug]\n"
	"       tierd --check-config [FILE]\n"
	"\n"
	"  -c, --config FILE      configuration (" DEFAULT_CONFIG ")\n"
	"  -C, --check-config     say whether a configuration holds, and where not\n"
	"  -f, --foreground       do not detach (it never does)\n"
	"  -d, --debug            log more: moves that were dropped, faults that last\n"
	"      --version\n"
	"  -h, --help\n"
	"\n"
	"See tierd(8), tierd.conf(5).\n";

/* `path` NULL: the default one, which may miss, as in serve(). */
static int check_config(const char *path)
{
	_cleanup_(config_cleanup) struct config *config = NULL;
	struct config_error error;
	int r;

	r = config_load(path ? path : DEFAULT_CONFIG, &config, &error);
	if (r == -ENOENT && !path) {
		puts(DEFAULT_CONFIG " is not there: the defaults are in force");
		return 0;
	}
	if (r) {
		fprintf(stderr, "%s\n", error.text);
		return EXIT_FAILED;
	}
	printf("%s: ok\n", config->path);
	return 0;
}

static int serve(const char *path, bool debug)
{
	struct log_output output = {
		.is_journal = log_output_is_journal(),
		.max_priority = debug ? LOG_DEBUG : LOG_INFO,
	};
	const struct log_sink log = { .write = log_output_write, .ctx = &output };
	const char *state = secure_getenv("STATE_DIRECTORY");
	struct loop_options options = {
		.config_path = path ? path : DEFAULT_CONFIG,
		.config_may_miss = !path,
		.state_path = state ? state : DEFAULT_STATE,
		.log = &log,
	};
	struct config_error error;
	int r;

	r = config_load(options.config_path, &options.config, &error);
	if (r == -ENOENT && options.config_may_miss) {
		r = config_new(options.config_path, &options.config);
		log_plain(&log, LOG_CONFIG_LOADED_EVENT, LOG_NOTICE, NULL,
			  "%s is not there: the defaults are in force", options.config_path);
	}
	if (r) {
		log_plain(&log, LOG_CONFIG_REFUSED_EVENT, LOG_ERR, NULL, "%s",
			  r == -ENOMEM ? strerror(ENOMEM) : error.text);
		return r == -EINVAL ? EXIT_BAD_CONFIG : EXIT_FAILED;
	}
	return loop_run(&options) ? EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
	enum { OPTION_VERSION = 256 };
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check-config", no_argument, NULL, 'C' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "debug", no_argument, NULL, 'd' },
		{ "version", no_argument, NULL, OPTION_VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ NULL }
	};
	const char *path = NULL;
	bool check = false, debug = false;
	int option;

	if (!tier_have_standard_files())
		return EXIT_FAILED;
	while ((option = getopt_long(argc, argv, "c:Cfdh", options, NULL)) >= 0) {
		switch (option) {
		case 'c':
			path = optarg;
			break;
		case 'C':
			check = true;
			break;
		case 'f':
			break;
		case 'd':
			debug = true;
			break;
		case OPTION_VERSION:
			puts("tierd " TIER_VERSION);
			return 0;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return EXIT_BAD_COMMAND_LINE;
		}
	}
	if (check && optind < argc)
		path = argv[optind++];
	if (optind < argc) {
		fprintf(stderr, "tierd: what is \"%s\"? See tierd --help.\n", argv[optind]);
		return EXIT_BAD_COMMAND_LINE;
	}
	return check ? check_config(path) : serve(path, debug);
}
