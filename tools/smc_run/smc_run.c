// SPDX-License-Identifier: GPL-2.0-only
/*
 * smc_run: runs a program with its TCP sockets turned into SMC sockets.
 *
 * Puts libsmc_preload.so in front of LD_PRELOAD and executes the program in its own
 * place, so that signals, the exit status and the process id are the program's own.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <link.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <smc/family.h>

#include "size.h"

#define PRELOAD_NAME "libsmc_preload.so"
#define INTERPRETER_DEPTH_MAX 4

/* The exit statuses of a shell: not found, and found but not executable. */
#define EXIT_NOT_FOUND 127
#define EXIT_NOT_EXECUTABLE 126

static void usage(FILE *out)
{
	fputs("Usage: smc_run [options] [--] PROGRAM [ARGUMENT...]\n"
	      "Run PROGRAM with its TCP sockets turned into SMC sockets.\n"
	      "\n"
	      "  -r, --rcvbuf SIZE  receive buffer of each SMC socket (SIZE: bytes, or 64K, 1M)\n"
	      "  -t, --sndbuf SIZE  send buffer of each SMC socket\n"
	      "  -d, --debug        say on stderr which sockets became SMC\n"
	      "  -c, --cgroup       have the kernel do it, for any program; needs root\n"
	      "  -v, --version      show the version\n"
	      "  -h, --help         show this text\n"
	      "\n"
	      "A connection whose peer does not speak SMC runs over TCP by itself.\n"
	      "Without --cgroup, statically linked and set-user-id programs keep TCP sockets.\n",
	      out);
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list args;

	fputs("smc_run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* The directory of this program, with the slash behind it. */
static int find_directory(char *directory, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", directory, size - 1);
	char *slash;

	if (length < 0)
		return -errno;
	directory[length] = '\0';
	slash = strrchr(directory, '/');
	if (!slash)
		return -ENOENT;
	slash[1] = '\0';
	return 0;
}

/* The library lies beside this program (build tree) or in ../lib/smc (installed). */
static int find_library(char *path, size_t size)
{
	static const char *const places[] = { "", "../lib/smc/", "../lib64/smc/" };
	char self[PATH_MAX];
	int ret = find_directory(self, sizeof(self));

	if (ret)
		return ret;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char candidate[PATH_MAX + 64];
		char resolved[PATH_MAX];

		snprintf(candidate, sizeof(candidate), "%s%s%s", self, places[i], PRELOAD_NAME);
		if (!realpath(candidate, resolved) || access(resolved, R_OK) < 0)
			continue;
		/* ld.so splits LD_PRELOAD at these and has no way to quote them. */
		if (strpbrk(resolved, ": ")) {
			note("%s: a blank or a colon in the path keeps it from being preloaded",
			     resolved);
			return -EINVAL;
		}
		return snprintf(path, size, "%s", resolved) < (int)size ? 0 : -ENAMETOOLONG;
	}
	return -ENOENT;
}

static bool is_listed(const char *list, const char *entry)
{
	size_t length = strlen(entry);

	while (*list) {
		size_t item = strcspn(list, ": ");

		if (item == length && !strncmp(list, entry, length))
			return true;
		list += item;
		list += strspn(list, ": ");
	}
	return false;
}

/* Puts the library first and keeps the other preloaded ones. */
static int preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *value;
	int ret;

	if (!others || !*others)
		return setenv("LD_PRELOAD", library, 1);
	if (is_listed(others, library))
		return 0;
	if (asprintf(&value, "%s:%s", library, others) < 0)
		return -1;
	ret = setenv("LD_PRELOAD", value, 1);
	free(value);
	return ret;
}

/* Finds the program as execvp() would, for the checks below. */
static bool find_program(const char *name, char *path, size_t size)
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size;
	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (;;) {
		int length = (int)strcspn(dirs, ":");
		int wanted = snprintf(path, size, "%.*s/%s", length ? length : 1,
				      length ? dirs : ".", name);

		if (wanted < (int)size && access(path, X_OK) == 0)
			return true;
		if (!dirs[length])
			return false;
		dirs += length + 1;
	}
}

enum program_kind {
	PROGRAM_DYNAMIC, /* the library takes effect */
	PROGRAM_STATIC,
	PROGRAM_OTHER_CLASS, /* 32-bit program, 64-bit library or the other way round */
	PROGRAM_SCRIPT,
	PROGRAM_UNKNOWN,
};

static enum program_kind elf_kind(int fd, const unsigned char *ident)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) segment;

	if (ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return PROGRAM_OTHER_CLASS;
	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return PROGRAM_UNKNOWN;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		off_t offset = (off_t)header.e_phoff + (off_t)i * header.e_phentsize;

		if (pread(fd, &segment, sizeof(segment), offset) != (ssize_t)sizeof(segment))
			return PROGRAM_UNKNOWN;
		if (segment.p_type == PT_INTERP)
			return PROGRAM_DYNAMIC;
	}
	return PROGRAM_STATIC;
}

/* For a script, interpreter receives the program that the kernel will run. */
static enum program_kind inspect(const char *path, char *interpreter, size_t size)
{
	char start[256] = "";
	enum program_kind kind = PROGRAM_UNKNOWN;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return PROGRAM_UNKNOWN;
	length = pread(fd, start, sizeof(start) - 1, 0);
	if (length >= EI_NIDENT && !memcmp(start, ELFMAG, SELFMAG)) {
		kind = elf_kind(fd, (const unsigned char *)start);
	} else if (length > 2 && start[0] == '#' && start[1] == '!') {
		const char *name = start + 2 + strspn(start + 2, " \t");

		snprintf(interpreter, size, "%.*s", (int)strcspn(name, " \t\n"), name);
		kind = PROGRAM_SCRIPT;
	}
	close(fd);
	return kind;
}

/* Its user or group differs from the caller's real one: the kernel tells the loader so. */
static bool gains_id(const struct stat *st)
{
	if ((st->st_mode & S_ISUID) && st->st_uid != getuid())
		return true;
	/* Without the x bit S_ISGID means something else. */
	return (st->st_mode & S_ISGID) && (st->st_mode & 0010) && st->st_gid != getgid();
}

/* Says when the loader will silently ignore the library. */
static void warn_if_not_preloadable(const char *name)
{
	char path[PATH_MAX];
	char interpreter[PATH_MAX];
	struct stat st;

	if (!find_program(name, path, sizeof(path)))
		return;
	for (int depth = 0; depth < INTERPRETER_DEPTH_MAX; depth++) {
		switch (inspect(path, interpreter, sizeof(interpreter))) {
		case PROGRAM_STATIC:
			note("%s is statically linked: its sockets stay TCP", path);
			return;
		case PROGRAM_OTHER_CLASS:
			note("%s is built for another word size than %s: its sockets stay TCP",
			     path, PRELOAD_NAME);
			return;
		case PROGRAM_SCRIPT:
			memcpy(path, interpreter, sizeof(path));
			continue;
		case PROGRAM_DYNAMIC:
		case PROGRAM_UNKNOWN:
			break;
		}
		break;
	}
	if (stat(path, &st) == 0 && gains_id(&st)) {
		note("%s changes its user or group id, so the loader ignores LD_PRELOAD: its "
		     "sockets stay TCP",
		     path);
		return;
	}
	/* Root has these capabilities anyway, so the loader notices nothing. */
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		note("%s has file capabilities, so the loader ignores LD_PRELOAD: its sockets stay "
		     "TCP",
		     path);
}

/* Tries what the library will try: the protocol, and if the kernel does not know it the family. */
static void warn_without_smc(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SMC);

	if (fd < 0 && errno == EPROTONOSUPPORT)
		fd = socket(AF_SMC, SOCK_STREAM, 0);
	if (fd >= 0) {
		close(fd);
		return;
	}
	note("this kernel offers no SMC sockets (%s): %s", strerror(errno),
	     "TCP will be used; is the smc module there?");
}

static void set_size(const char *variable, const char *text)
{
	char bytes_text[16];
	int bytes;

	if (smc_size_parse(text, &bytes) < 0) {
		note("%s is not a size", text);
		exit(EXIT_FAILURE);
	}
	snprintf(bytes_text, sizeof(bytes_text), "%d", bytes);
	if (setenv(variable, bytes_text, 1) < 0) {
		note("%s", strerror(errno));
		exit(EXIT_FAILURE);
	}
}

/* The kernel silently uses the smaller of the two. */
static void warn_if_clamped(const char *variable, const char *what, const char *sysctl)
{
	const char *text = getenv(variable);
	char path[64];
	int bytes;
	int limit;
	FILE *file;

	if (!text || smc_size_parse(text, &bytes) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/sys/net/core/%s", sysctl);
	file = fopen(path, "re");
	/* A network namespace may not have it. */
	if (!file)
		return;
	if (fscanf(file, "%d", &limit) == 1 && limit < bytes)
		note("%s buffers are %d bytes instead of %d: the sysctl net.core.%s is the limit",
		     what, limit, bytes, sysctl);
	fclose(file);
}

/* smc_ctl, which lies beside this program, knows how to select a cgroup. Returns on failure. */
static int run_in_cgroup(char **command, size_t words)
{
	char directory[PATH_MAX];
	char path[PATH_MAX + 16];
	char **argv = calloc(words + 4, sizeof(*argv));

	if (!argv || find_directory(directory, sizeof(directory)))
		return EXIT_FAILURE;
	snprintf(path, sizeof(path), "%ssmc_ctl", directory);
	argv[0] = path;
	argv[1] = "select";
	argv[2] = "run";
	memcpy(argv + 3, command, words * sizeof(*argv));
	execv(path, argv);
	note("%s: %s", path, strerror(errno));
	free(argv);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rcvbuf", required_argument, NULL, 'r' },
		{ "sndbuf", required_argument, NULL, 't' },
		{ "debug", no_argument, NULL, 'd' },
		{ "cgroup", no_argument, NULL, 'c' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	char library[PATH_MAX];
	bool in_cgroup = false;
	bool others = false;
	int failure;
	int option;

	/* '+': everything from the program's name on belongs to the program. */
	while ((option = getopt_long(argc, argv, "+r:t:dcvh", options, NULL)) != -1) {
		switch (option) {
		case 'r':
			set_size("SMC_RCVBUF", optarg);
			others = true;
			break;
		case 't':
			set_size("SMC_SNDBUF", optarg);
			others = true;
			break;
		case 'd':
			setenv("SMC_DEBUG", "1", 1);
			others = true;
			break;
		case 'c':
			in_cgroup = true;
			break;
		case 'v':
			puts("smc_run " SMC_PACKAGE_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			usage(stdout);
			return EXIT_SUCCESS;
		default:
			usage(stderr);
			return EXIT_FAILURE;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return EXIT_FAILURE;
	}
	if (in_cgroup && others) {
		note("the other options have no effect with --cgroup");
		return EXIT_FAILURE;
	}
	if (in_cgroup)
		return run_in_cgroup(argv + optind, (size_t)(argc - optind));

	if (find_library(library, sizeof(library)) < 0) {
		note("%s not found beside smc_run or in ../lib/smc", PRELOAD_NAME);
		return EXIT_FAILURE;
	}
	warn_without_smc();
	warn_if_clamped("SMC_RCVBUF", "receive", "rmem_max");
	warn_if_clamped("SMC_SNDBUF", "send", "wmem_max");
	warn_if_not_preloadable(argv[optind]);
	if (preload(library) < 0) {
		note("%s", strerror(errno));
		return EXIT_FAILURE;
	}

	execvp(argv[optind], argv + optind);
	/* note() may fail as well, with another errno. */
	failure = errno;
	note("%s: %s", argv[optind], strerror(failure));
	return failure == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
