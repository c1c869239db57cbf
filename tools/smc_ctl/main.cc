// SPDX-License-Identifier: GPL-2.0-only
//
// smc_ctl: configures smc.ko and shows what it does, over the netlink interface that IBM's
// smc-tools use, too. Works with the kernel's own smc.ko as well.

#include "commands.hpp"
#include "netlink.hpp"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace smc_ctl {
namespace {

// That of check --serve: the number of RoCE's UDP port.
constexpr const char *kCheckPort = "4791";
constexpr const char *kConfiguration = "/etc/smc.conf";

// The command line; filled in by the parser.
struct Arguments {
	std::string id;
	PnetDevice device;
	Rule rule;
	std::string verdict;
	std::string ports;
	Selection selection;
	std::string netns;
	CheckOptions check;
	SocketFilter sockets;
	TopOptions top;
	CaptureOptions capture;
	StatsOptions stats;
	bool json = false;
	std::vector<std::string> words;
	ApplyOptions apply{.file = kConfiguration};
	int status = 0;
};

// One that shows something.
void add_show(CLI::App &app, const char *name, const char *what, Arguments &arguments,
	      void (*show)(bool json))
{
	CLI::App *command = app.add_subcommand(name, what);

	command->add_flag("--json", arguments.json, "as JSON");
	command->callback([&arguments, show] { show(arguments.json); });
}

void add_eid_commands(CLI::App &app, Arguments &arguments)
{
	CLI::App *eid = app.add_subcommand("eid", "enterprise IDs of this network namespace");
	eid->require_subcommand(1);

	CLI::App *add = eid->add_subcommand("add", "add one, at most four");
	add->add_option("eid", arguments.id, "A-Z, 0-9, '.' and '-', up to 32 characters")
		->required();
	add->callback([&] { eid_add(arguments.id); });
	CLI::App *del = eid->add_subcommand("del", "remove one");
	del->add_option("eid", arguments.id)->required();
	del->callback([&] { eid_del(arguments.id); });
	eid->add_subcommand("flush", "remove all")->callback(eid_flush);
	add_show(*eid, "show", "list them", arguments, eid_show);
}

void add_pnet_commands(CLI::App &app, Arguments &arguments)
{
	CLI::App *pnet = app.add_subcommand("pnet", "names of physical networks");
	pnet->require_subcommand(1);
	PnetDevice &device = arguments.device;

	CLI::App *add = pnet->add_subcommand("add", "say on which network a device is");
	add->add_option("id", arguments.id, "letters and digits, up to 16")->required();
	add->add_option("--netdev", device.eth, "network device");
	auto *rdma = add->add_option("--rdma", device.ib, "RDMA device or its PCI address");
	add->add_option("--port", device.ib_port, "port of the RDMA device")
		->needs(rdma)
		->check(CLI::Range(1, 2));
	add->require_option(2, 4);
	add->callback([&] { pnet_add(arguments.id, arguments.device); });
	CLI::App *del = pnet->add_subcommand("del", "remove all entries of one ID");
	del->add_option("id", arguments.id)->required();
	del->callback([&] { pnet_del(arguments.id); });
	pnet->add_subcommand("flush", "remove all")->callback(pnet_flush);
	CLI::App *show = pnet->add_subcommand("show", "list them");
	show->add_option("id", arguments.id, "only this ID");
	show->add_flag("--json", arguments.json, "as JSON");
	show->callback([&] { pnet_show(arguments.id, arguments.json); });
}

void add_rule_options(CLI::App &command, Arguments &arguments, void (*change)(const Rule &))
{
	command.add_option("verdict", arguments.verdict)
		->required()
		->check(CLI::IsMember({"allow", "deny"}));
	command.add_option("--peer", arguments.rule.peer, "prefix of the peer's address");
	command.add_option("--port", arguments.ports, "the server's port, or a range of ports");
	command.add_flag("--out", arguments.rule.out, "only connections that are made here");
	command.add_flag("--in", arguments.rule.in, "only connections that come here");
	command.callback([&arguments, change] {
		arguments.rule.allow = arguments.verdict == "allow";
		parse_ports(arguments.ports, arguments.rule);
		change(arguments.rule);
	});
}

void add_peer_commands(CLI::App &app, Arguments &arguments)
{
	CLI::App *peers = app.add_subcommand("peers", "how peers took the offer of SMC");
	peers->require_subcommand(1);
	peers->add_subcommand("flush", "forget all, and offer it again")->callback(peers_flush);
	add_show(*peers, "show", "list them", arguments, peers_show);

	CLI::App *rules = app.add_subcommand("rules", "with whom this network namespace does SMC");
	rules->require_subcommand(1);
	add_rule_options(*rules->add_subcommand("add", "add one behind the others"), arguments,
			 rule_add);
	add_rule_options(*rules->add_subcommand("del", "remove this one"), arguments, rule_del);
	rules->add_subcommand("flush", "remove all")->callback(rules_flush);
	add_show(*rules, "show", "list them; the first one that fits decides", arguments,
		 rules_show);
}

void add_selection(CLI::App &command, Arguments &arguments, void (*change)(const Selection &))
{
	Selection &selection = arguments.selection;
	CLI::Option *netns = command.add_option("--netns", arguments.netns,
						"this network namespace, or one of /run/netns")
				     ->expected(0, 1);

	command.add_option("--cgroup", selection.cgroup, "a cgroup and those below it");
	command.add_option("--unit", selection.unit, "a unit of systemd, also after a restart");
	command.require_option(1);
	command.callback([&arguments, netns, change] {
		if (netns->count() != 0)
			arguments.selection.netns = arguments.netns;
		change(arguments.selection);
	});
}

void add_select_commands(CLI::App &app, Arguments &arguments)
{
	CLI::App *select = app.add_subcommand("select", "whose TCP sockets become SMC sockets");
	select->require_subcommand(1);
	add_selection(*select->add_subcommand("add", "select"), arguments, select_add);
	add_selection(*select->add_subcommand("del", "undo that"), arguments, select_del);
	add_show(*select, "list", "what is selected", arguments, select_list);
	select->add_subcommand("prepare", "for units: pin the BPF program")
		->callback(select_prepare);
	select->add_subcommand("tidy", "unpin it if nothing is selected any more")
		->callback(select_tidy);
	select->add_subcommand("clear", "undo it for all cgroups")->callback(select_clear);
	CLI::App *run = select->add_subcommand("run", "run a program in a cgroup that is selected");
	// Everything from the program's name on belongs to the program.
	run->set_help_flag();
	run->prefix_command();
	run->callback([&arguments, run] {
		std::vector<std::string> words = run->remaining();
		std::vector<char *> argv;

		if (words.empty())
			throw CLI::RequiredError("the program");
		for (std::string &word : words)
			argv.push_back(word.data());
		argv.push_back(nullptr);
		arguments.status = select_run(argv.data());
	});
}

void add_file_commands(CLI::App &app, Arguments &arguments)
{
	CLI::App *apply_it = app.add_subcommand("apply", "do what a file says");
	apply_it->add_option("file", arguments.apply.file, "in the form of smc.conf(5)")
		->default_str(kConfiguration);
	apply_it->add_flag("--dry-run", arguments.apply.dry_run,
			   "show the difference, change nothing");
	apply_it->callback([&] { arguments.status = apply(arguments.apply); });
	CLI::App *save_it = app.add_subcommand("save", "write what is in force into a file");
	save_it->add_option("file", arguments.apply.file, "\"-\": to standard output")
		->default_str(kConfiguration);
	save_it->callback([&] { save(arguments.apply.file); });
}

void add_check_commands(CLI::App &app, Arguments &arguments)
{
	CheckOptions &options = arguments.check;
	CLI::App *check_it = app.add_subcommand("check", "why is it TCP? connects to another host");
	auto *serve = check_it->add_flag("--serve", options.serve, "be that other host");
	check_it->add_flag("--json", options.json, "as JSON")->excludes(serve);
	// Without a host the only word is a port.
	check_it->add_option("words", arguments.words, "HOST [PORT]; with --serve: [PORT]")
		->expected(0, 2);
	check_it->callback([&arguments, serve] {
		std::vector<std::string> &words = arguments.words;

		if (serve->count() == 0) {
			if (words.empty())
				throw CLI::RequiredError("HOST");
			arguments.check.host = words.front();
			words.erase(words.begin());
		}
		if (words.size() > 1)
			throw CLI::ExtrasError(words);
		arguments.check.port = words.empty() ? kCheckPort : words.front();
		arguments.status = check(arguments.check);
	});
	CLI::App *look = app.add_subcommand("doctor", "what makes connections of this host TCP");
	look->add_flag("--json", arguments.json, "as JSON");
	look->callback([&] { arguments.status = doctor(arguments.json); });
	app.add_subcommand("report", "all of that for a bug report, without addresses and names")
		->callback(report);
}

void add_capture_command(CLI::App &app, Arguments &arguments)
{
	CaptureOptions &options = arguments.capture;
	CLI::App *command = app.add_subcommand("capture", "packets of SMC, for Wireshark");

	command->add_option("-w,--write", options.file, "into this file; \"-\": standard output")
		->capture_default_str();
	command->add_option("--interface", options.interfaces,
			    "of this network or RDMA device alone; may be repeated")
		->take_all()
		->allow_extra_args(false);
	command->add_option("--host", options.tcp.host,
			    "all TCP with this address, or prefix, and no other TCP");
	command->add_option("--port", options.tcp.port, "likewise, with this port")
		->check(CLI::Range(1, UINT16_MAX));
	command->add_option("--seconds", options.seconds, "end after so many")
		->check(CLI::PositiveNumber);
	command->add_option("--packets", options.packets, "end after so many")
		->check(CLI::PositiveNumber);
	command->add_option("--size", options.size_mib, "end when the file has so many MiB")
		->check(CLI::Range(1, 1 << 20))
		->capture_default_str();
	auto *headers = command->add_flag_callback(
		"--headers", [&options] { options.keep = Keep::kHeaders; },
		"leave payload out, for a smaller file; else it is zeros");
	command->add_flag_callback(
		       "--whole", [&options] { options.keep = Keep::kAll; },
		       "with what applications send")
		->excludes(headers);
	command->callback([&arguments] { arguments.status = capture(arguments.capture); });
}

void add_filter(CLI::App &command, SocketFilter &filter)
{
	command.add_option("--state", filter.state, "only those in this state");
	command.add_option("--address", filter.address, "only those with this prefix at an end");
	command.add_option("--process", filter.process, "only those of this name or number");
}

void add_top_command(CLI::App &app, TopOptions &options)
{
	CLI::App *command =
		app.add_subcommand("top", "what SMC connections move, the busiest first");

	add_filter(*command, options.filter);
	command->add_option("--interval", options.interval_s, "seconds between two looks")
		->check(CLI::Range(0.1, 3600.0))
		->capture_default_str();
	command->add_option("--rounds", options.rounds, "end after so many")
		->check(CLI::PositiveNumber);
	command->add_option("--sort", options.order, "by what is per second")
		->check(CLI::IsMember({"bytes", "sent", "received", "messages", "stalls"}))
		->capture_default_str();
	command->add_flag("--json", options.filter.json, "each round as a line of JSON");
	command->callback([&options] { top(options); });
}

void add_socket_command(CLI::App &app, SocketFilter &filter)
{
	CLI::App *sockets = app.add_subcommand("sockets", "sockets, and what carries them");

	add_filter(*sockets, filter);
	sockets->add_option("--reason", filter.reason, "only those that are TCP for this");
	sockets->add_flag("--processes", filter.processes, "with the processes that have them");
	sockets->add_flag("--traffic", filter.traffic, "with bytes, messages and stalls");
	sockets->add_flag("--json", filter.json, "all of that as JSON");
	sockets->callback([&filter] { sockets_show(filter); });
}

void add_stats_command(CLI::App &app, StatsOptions &options)
{
	CLI::App *stats = app.add_subcommand("stats", "counters");
	auto *reset = stats->add_flag("--reset", options.reset, "let --delta begin here");
	auto *delta = stats->add_flag("--delta", options.delta,
				      "what has changed since --reset, by name");
	auto *json = stats->add_flag("--json", options.json, "every counter by name, as JSON");
	auto *prometheus = stats->add_flag("--prometheus", options.prometheus,
					   "the same for the textfile collector of Prometheus");

	stats->add_option("--to", options.to, "write that into a file, in one piece")
		->needs(prometheus);
	json->excludes(prometheus);
	delta->excludes(prometheus);
	stats->callback([&options, reset, delta, json, prometheus] {
		if (reset->count() + delta->count() + json->count() + prometheus->count() == 0)
			stats_show();
		else
			counters_show(options);
	});
}

void add_show_commands(CLI::App &app, Arguments &arguments)
{
	add_show(app, "groups", "link groups", arguments, groups_show);
	add_show(app, "links", "links of SMC-R's groups", arguments, links_show);
	add_show(app, "devices", "RDMA devices", arguments, devices_show);
	add_socket_command(app, arguments.sockets);
	add_top_command(app, arguments.top);
	add_stats_command(app, arguments.stats);
	add_show(app, "fallback", "why connections went on as TCP", arguments, fallback_show);
	add_show(app, "info", "version of the protocol", arguments, info_show);
}

int run(int argc, char **argv)
{
	CLI::App app("Configures SMC and shows what it does.", "smc_ctl");
	Arguments arguments;
	app.require_subcommand(1);
	app.set_version_flag("--version", "smc_ctl " SMC_PACKAGE_VERSION);
	add_eid_commands(app, arguments);
	add_pnet_commands(app, arguments);
	add_peer_commands(app, arguments);
	add_select_commands(app, arguments);
	add_file_commands(app, arguments);
	add_check_commands(app, arguments);
	add_capture_command(app, arguments);
	add_show_commands(app, arguments);
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &error) {
		return app.exit(error);
	}
	return arguments.status;
}

// Only this shows whether the output could be written.
bool all_written()
{
	return std::fflush(stdout) == 0 && !std::ferror(stdout);
}

} // namespace
} // namespace smc_ctl

int main(int argc, char **argv)
{
	try {
		const int status = smc_ctl::run(argc, argv);
		if (!smc_ctl::all_written())
			throw smc_ctl::NetlinkError("standard output", errno);
		return status;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "smc_ctl: %s\n", error.what());
		return 1;
	}
}
