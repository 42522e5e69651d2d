// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "disks.h"
#include "nbd.h"

#define OPTION_MAGIC		0x49484156454f5054ULL	/* IHAVEOPT */
#define OPTION_REPLY_MAGIC	0x0003e889045565a9ULL
#define REQUEST_MAGIC		0x25609513U
#define REPLY_MAGIC		0x67446698U

#define OPTION_ABORT		2
#define OPTION_INFO		6
#define OPTION_GO		7
#define REPLY_ACK		1
#define REPLY_INFO		3
#define REPLY_UNSUPPORTED	0x80000001U
#define REPLY_UNKNOWN		0x80000006U

/* has flags, flush, trim, write zeroes; no FUA, so a FUA write is a write and a flush */
#define EXPORT_FLAGS		(1 | 4 | 0x20 | 0x40)
#define MAX_REQUEST		(32u << 20)
#define MAX_CLIENTS		16
#define MAX_OPTION		4096

struct client {
	int fd;
	int slice;			/* -1: still asking for one */
};

struct answer {
	struct answer *next;		/* by time */
	uint64_t due_ns;
	int fd;
	uint64_t handle;
	struct nbd_request request;
};

static struct client clients[MAX_CLIENTS];
static unsigned int nr_clients;
static struct answer *answers;
static volatile sig_atomic_t stop;

struct wire_request {
	uint32_t magic;
	uint16_t flags, type;
	uint64_t handle, offset;
	uint32_t bytes;
} __attribute__((packed));

struct wire_reply {
	uint32_t magic, error;
	uint64_t handle;
} __attribute__((packed));

struct wire_option {
	uint64_t magic;
	uint32_t option, bytes;
} __attribute__((packed));

struct wire_option_reply {
	uint64_t magic;
	uint32_t option, type, bytes;
} __attribute__((packed));

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* False: the client is gone. */
static bool get(int fd, void *data, size_t bytes)
{
	char *at = data;
	ssize_t n;

	while (bytes) {
		n = recv(fd, at, bytes, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		bytes -= n;
	}
	return true;
}

static bool put(int fd, const void *data, size_t bytes)
{
	const char *at = data;
	ssize_t n;

	while (bytes) {
		n = send(fd, at, bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		bytes -= n;
	}
	return true;
}

/* Asking for an export ---------------------------------------------------------*/

static bool greet(int fd)
{
	struct {
		char magic[8];
		uint64_t option_magic;
		uint16_t flags;
	} __attribute__((packed)) hello = { "NBDMAGIC", htobe64(OPTION_MAGIC), htobe16(1 | 2) };
	uint32_t flags;

	return put(fd, &hello, sizeof(hello)) && get(fd, &flags, sizeof(flags));
}

static bool reply_option(int fd, uint32_t option, uint32_t type, const void *data, size_t bytes)
{
	struct wire_option_reply reply = {
		.magic = htobe64(OPTION_REPLY_MAGIC), .option = htobe32(option),
		.type = htobe32(type), .bytes = htobe32(bytes),
	};

	return put(fd, &reply, sizeof(reply)) && put(fd, data, bytes);
}

static int find_slice(const uint8_t *data, uint32_t bytes)
{
	uint32_t length;
	int i;

	if (bytes < 4)
		return -1;
	memcpy(&length, data, 4);
	length = be32toh(length);
	for (i = 0; i < NR_SLICES; i++)
		if (length <= bytes - 4 && strlen(slices[i].name) == length &&
		    !memcmp(slices[i].name, data + 4, length))
			return i;
	return -1;
}

static bool describe(int fd, uint32_t option, int slice)
{
	struct {
		uint16_t what;
		uint64_t bytes;
		uint16_t flags;
	} __attribute__((packed)) export = {
		0, htobe64(slices[slice].bytes), htobe16(EXPORT_FLAGS)
	};
	struct {
		uint16_t what;
		uint32_t least, best, most;
	} __attribute__((packed)) blocks = {
		htobe16(3), htobe32(SECTOR), htobe32(4096), htobe32(MAX_REQUEST)
	};

	return reply_option(fd, option, REPLY_INFO, &export, sizeof(export)) &&
	       reply_option(fd, option, REPLY_INFO, &blocks, sizeof(blocks)) &&
	       reply_option(fd, option, REPLY_ACK, "", 0);
}

static bool negotiate(struct client *client)
{
	uint8_t data[MAX_OPTION];
	struct wire_option head;
	uint32_t option, bytes;
	int slice;

	if (!get(client->fd, &head, sizeof(head)) || be64toh(head.magic) != OPTION_MAGIC)
		return false;
	option = be32toh(head.option);
	bytes = be32toh(head.bytes);
	if (bytes > sizeof(data) || !get(client->fd, data, bytes))
		return false;
	if (option == OPTION_ABORT) {
		reply_option(client->fd, option, REPLY_ACK, "", 0);
		return false;
	}
	if (option != OPTION_GO && option != OPTION_INFO)
		return reply_option(client->fd, option, REPLY_UNSUPPORTED, "", 0);
	slice = find_slice(data, bytes);
	if (slice < 0)
		return reply_option(client->fd, option, REPLY_UNKNOWN, "", 0);
	if (!describe(client->fd, option, slice))
		return false;
	if (option == OPTION_GO)
		client->slice = slice;
	return true;
}

/* Requests -----------------------------------------------------------------------*/

static void add_answer(struct answer *answer)
{
	struct answer **at = &answers;

	while (*at && (*at)->due_ns <= answer->due_ns)
		at = &(*at)->next;
	answer->next = *at;
	*at = answer;
}

/* A client that has gone loses its answers: what it asked for has happened all the same. */
static void send_answer(const struct nbd_server *server, struct answer *answer)
{
	struct wire_reply reply = { .magic = htobe32(REPLY_MAGIC), .handle = answer->handle };

	server->answered(server->ctx, &answer->request);
	if (answer->fd >= 0 && put(answer->fd, &reply, sizeof(reply)) &&
	    answer->request.type == NBD_READ)
		put(answer->fd, answer->request.data, answer->request.bytes);
	free(answer->request.data);
	free(answer);
}

static void send_due(const struct nbd_server *server)
{
	uint64_t now = now_ns();

	while (answers && answers->due_ns <= now) {
		struct answer *answer = answers;

		answers = answer->next;
		send_answer(server, answer);
	}
}

static bool sensible(const struct nbd_request *request)
{
	uint64_t size = slices[request->slice].bytes;

	return request->bytes <= size && request->offset <= size - request->bytes &&
	       request->offset % SECTOR == 0 && request->bytes % SECTOR == 0 &&
	       (request->bytes <= MAX_REQUEST || request->type > NBD_CLOSE);
}

static bool serve_request(const struct nbd_server *server, struct client *client)
{
	struct wire_request wire;
	struct answer *answer;
	struct nbd_request *request;

	if (!get(client->fd, &wire, sizeof(wire)) || be32toh(wire.magic) != REQUEST_MAGIC ||
	    be16toh(wire.type) == NBD_CLOSE)
		return false;
	answer = calloc(1, sizeof(*answer));
	if (!answer)
		err(2, "memory");
	answer->fd = client->fd;
	answer->handle = wire.handle;
	request = &answer->request;
	request->slice = client->slice;
	request->type = be16toh(wire.type);
	if (request->type != NBD_FLUSH) {
		request->offset = be64toh(wire.offset);
		request->bytes = be32toh(wire.bytes);
	}
	if (!sensible(request))
		errx(2, "%s: a request of type %u, %llu bytes at %llu", slices[client->slice].name,
		     request->type, (unsigned long long)request->bytes,
		     (unsigned long long)request->offset);
	if (request->type <= NBD_WRITE) {
		request->data = malloc(request->bytes);
		if (!request->data)
			err(2, "memory");
	}
	if (request->type == NBD_WRITE && !get(client->fd, request->data, request->bytes)) {
		free(request->data);
		free(answer);
		return false;
	}
	answer->due_ns = server->request(server->ctx, request) * 1000;
	if (answer->due_ns)
		answer->due_ns += now_ns();
	add_answer(answer);
	return true;
}

/* Clients --------------------------------------------------------------------------*/

static void add_client(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		err(2, "accept");
	if (nr_clients == MAX_CLIENTS || !greet(fd)) {
		close(fd);
		return;
	}
	clients[nr_clients++] = (struct client){ fd, -1 };
}

static void drop_client(unsigned int i)
{
	struct answer *answer;

	for (answer = answers; answer; answer = answer->next)
		if (answer->fd == clients[i].fd)
			answer->fd = -1;
	close(clients[i].fd);
	clients[i] = clients[--nr_clients];
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		errx(2, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, MAX_CLIENTS))
		err(2, "%s", path);
	return fd;
}

static void on_signal(int number)
{
	stop = 1;
}

/* The signals are blocked but for the time of this. */
static void wait_for_work(struct pollfd *polls, unsigned int count, const sigset_t *open)
{
	struct timespec left = { 0 };
	uint64_t now = now_ns();

	if (answers && answers->due_ns > now) {
		left.tv_sec = (answers->due_ns - now) / 1000000000;
		left.tv_nsec = (answers->due_ns - now) % 1000000000;
	}
	if (ppoll(polls, count, answers ? &left : NULL, open) < 0) {
		if (errno != EINTR)
			err(2, "poll");
		while (count--)
			polls[count].revents = 0;
	}
}

void nbd_serve(const struct nbd_server *server, const char *path)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct pollfd polls[MAX_CLIENTS + 1];
	int listener = listen_at(path);
	sigset_t closed, open;
	unsigned int i;

	sigemptyset(&closed);
	sigaddset(&closed, SIGTERM);
	sigaddset(&closed, SIGINT);
	sigprocmask(SIG_BLOCK, &closed, &open);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	puts("serving");
	fflush(stdout);
	while (!stop) {
		unsigned int count = nr_clients;

		for (i = 0; i < count; i++)
			polls[i] = (struct pollfd){ clients[i].fd, POLLIN, 0 };
		polls[count] = (struct pollfd){ listener, POLLIN, 0 };
		wait_for_work(polls, count + 1, &open);
		send_due(server);
		/* From the end: one that goes is replaced by the last. */
		for (i = count; i-- > 0;)
			if (polls[i].revents &&
			    !(clients[i].slice < 0 ? negotiate(&clients[i]) :
			      serve_request(server, &clients[i])))
				drop_client(i);
		send_due(server);
		if (polls[count].revents)
			add_client(listener);
	}
	while (answers) {
		struct answer *answer = answers;

		answers = answer->next;
		send_answer(server, answer);
	}
	close(listener);
	unlink(path);
}
