// SPDX-License-Identifier: GPL-2.0-only
#include "kind.hpp"
#include "cgroup.hpp"
#include "commands.hpp"
#include "names.hpp"
#include "setting.hpp"
#include "unit.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

namespace smc_ctl {
namespace {

using What = Step::What;

constexpr std::size_t kEidSize = 32;
constexpr std::size_t kPnetIdSize = 16;
constexpr std::size_t kNetdevSize = 15;
constexpr std::size_t kRdmaSize = 63;

[[noreturn]] void refuse(const std::string &why)
{
	throw std::invalid_argument(why);
}

// The words of a statement one by one.
class Reader {
public:
	explicit Reader(const Words &words) : words_(words) {}

	[[nodiscard]] bool at_end() const { return at_ == words_.size(); }
	// Takes the next word if it is this one.
	[[nodiscard]] bool is(const char *word)
	{
		const bool found = !at_end() && words_[at_] == word;

		at_ += found ? 1 : 0;
		return found;
	}
	std::string take(const char *what)
	{
		if (at_end())
			refuse(std::string(what) + " is missing");
		return words_[at_++];
	}
	void end() const
	{
		if (!at_end())
			refuse("\"" + words_[at_] +
			       "\" is one word too many, or has no place here");
	}

private:
	const Words &words_;
	std::size_t at_ = 0;
};

std::uint32_t number_of(const std::string &text)
{
	const char *end = text.data() + text.size();
	std::uint32_t number = 0;
	const auto [rest, error] = std::from_chars(text.data(), end, number);

	if (error != std::errc() || rest != end)
		refuse("\"" + text + "\" is no number");
	return number;
}

bool is_alphanumeric(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string whole(const Statement &text)
{
	return text;
}

std::string first_word(const Statement &text)
{
	return text.substr(0, text.find(' '));
}

std::string behind_first_word(const Statement &text)
{
	return text.substr(text.find(' ') + 1);
}

bool contains(const std::vector<Statement> &statements, const Statement &text)
{
	return std::find(statements.begin(), statements.end(), text) != statements.end();
}

bool contains(const std::vector<InForce> &statements, const Statement &text)
{
	return std::any_of(statements.begin(), statements.end(),
			   [&](const InForce &one) { return one.text == text; });
}

std::vector<InForce> in_force(const std::vector<Statement> &texts)
{
	std::vector<InForce> all;

	for (const Statement &text : texts)
		all.push_back({text});
	return all;
}

// Of statements that do not depend on each other.
std::vector<Step> plan_set(const std::vector<InForce> &before, const std::vector<Statement> &wanted)
{
	std::vector<Step> steps;

	for (const InForce &old : before) {
		if (!old.passing && !contains(wanted, old.text))
			steps.push_back({What::kRemove, old.text});
	}
	for (const Statement &text : wanted) {
		if (!contains(before, text))
			steps.push_back({What::kAdd, text});
	}
	return steps;
}

// ---- set NAME VALUE: only those that are named are managed ----

std::vector<Statement> parse_setting(const Words &words)
{
	Reader reader(words);

	if (reader.at_end())
		refuse("a setting has a name and a value");
	std::string name = reader.take("the name");
	if (name.starts_with("net.smc."))
		name.erase(0, std::string("net.smc.").size());
	if (!setting::all().contains(name))
		refuse("there is no setting \"" + name + "\"");
	const std::uint32_t value = number_of(reader.take("the value"));
	reader.end();
	return {name + " " + std::to_string(value)};
}

std::vector<InForce> settings_in_force()
{
	std::vector<InForce> all;

	for (const auto &[name, value] : setting::all())
		all.push_back({name + " " + std::to_string(value)});
	return all;
}

// The new value takes the old one's place.
std::vector<Step> plan_settings(const std::vector<InForce> &before,
				const std::vector<Statement> &wanted)
{
	std::vector<Step> steps;

	for (const Statement &text : wanted) {
		if (contains(before, text))
			continue;
		for (const InForce &old : before) {
			if (first_word(old.text) == first_word(text))
				steps.push_back({What::kRemove, old.text, true, false});
		}
		steps.push_back({What::kAdd, text});
	}
	return steps;
}

void add_setting(const Statement &text)
{
	setting::set(first_word(text), number_of(behind_first_word(text)));
}

// ---- eid EID ----

std::vector<Statement> parse_eid(const Words &words)
{
	Reader reader(words);
	const std::string eid = upper(reader.take("the EID"));

	reader.end();
	if (eid.size() > kEidSize || eid.empty() || !is_alphanumeric(eid.front()) ||
	    !std::all_of(eid.begin(), eid.end(),
			 [](char c) { return is_alphanumeric(c) || c == '.' || c == '-'; }))
		refuse("\"" + eid +
		       "\" is no EID: up to 32 letters, digits, '.' and '-', a letter "
		       "or digit first");
	return {eid};
}

std::vector<InForce> eids_in_force()
{
	return in_force(eids());
}

// ---- pnet ID [netdev NAME] [rdma NAME [port NUMBER]] ----

PnetEntry entry_of(const Words &words)
{
	Reader reader(words);
	PnetEntry entry{upper(reader.take("the ID")), {}};
	PnetDevice &device = entry.device;

	if (entry.id.size() > kPnetIdSize || entry.id.empty() ||
	    !std::all_of(entry.id.begin(), entry.id.end(), is_alphanumeric))
		refuse("\"" + entry.id + "\" is no PNET ID: up to 16 letters and digits");
	if (reader.is("netdev"))
		device.eth = reader.take("the network device");
	if (reader.is("rdma")) {
		device.ib = reader.take("the RDMA device");
		if (reader.is("port")) {
			const std::uint32_t port = number_of(reader.take("the port"));

			if (port < 1 || port > 2)
				refuse("an RDMA device has ports 1 and 2");
			device.ib_port = static_cast<std::uint8_t>(port);
		}
	}
	reader.end();
	if (device.eth.empty() && device.ib.empty())
		refuse("a device is missing: netdev NAME, rdma NAME, or both");
	if (device.eth.size() > kNetdevSize || device.ib.size() > kRdmaSize)
		refuse("no device has a name as long as that");
	return entry;
}

Statement text_of(const PnetEntry &entry)
{
	return entry.id + " " + text_of(entry.device);
}

std::vector<Statement> parse_pnet(const Words &words)
{
	const PnetEntry entry = entry_of(words);
	std::vector<Statement> texts;

	if (!entry.device.eth.empty())
		texts.push_back(text_of(PnetEntry{entry.id, {.eth = entry.device.eth}}));
	if (!entry.device.ib.empty())
		texts.push_back(text_of(PnetEntry{
			entry.id, {.ib = entry.device.ib, .ib_port = entry.device.ib_port}}));
	return texts;
}

std::vector<InForce> pnet_in_force()
{
	std::vector<InForce> all;

	for (const PnetEntry &entry : pnet_entries())
		all.push_back({text_of(entry)});
	return all;
}

// The kernel removes all entries of an ID at once, so those that stay are added again.
std::vector<Step> plan_pnet(const std::vector<InForce> &before,
			    const std::vector<Statement> &wanted)
{
	std::vector<Step> steps;
	std::set<std::string> removed;

	for (const InForce &old : before) {
		if (!contains(wanted, old.text))
			steps.push_back({What::kRemove, old.text, true,
					 removed.insert(first_word(old.text)).second});
	}
	for (const Statement &text : wanted) {
		const bool is_new = !contains(before, text);

		if (is_new || removed.contains(first_word(text)))
			steps.push_back({What::kAdd, text, is_new, true});
	}
	return steps;
}

void add_pnet(const Statement &text)
{
	const PnetEntry entry = entry_of(split(text));

	pnet_add(entry.id, entry.device);
}

void remove_pnet(const Statement &text)
{
	pnet_del(first_word(text));
}

// ---- rules allow|deny [peer PREFIX] [port PORT[-PORT]] [out] [in] ----

Rule rule_of(const Words &words)
{
	Reader reader(words);
	Rule rule;

	rule.allow = reader.is("allow");
	if (!rule.allow && !reader.is("deny"))
		refuse("a rule begins with allow or deny");
	while (!reader.at_end()) {
		if (reader.is("peer"))
			rule.peer = reader.take("the prefix");
		else if (reader.is("port"))
			parse_ports(reader.take("the port"), rule);
		else if (reader.is("out"))
			rule.out = true;
		else if (reader.is("in"))
			rule.in = true;
		else
			reader.end();
	}
	if (rule.port_first > rule.port_last)
		refuse("the ports are the wrong way round");
	return rule;
}

std::vector<Statement> parse_rule(const Words &words)
{
	return {text_of(rule_of(words))};
}

std::vector<InForce> rules_in_force()
{
	std::vector<InForce> all;

	for (const Rule &rule : rules())
		all.push_back({text_of(rule)});
	return all;
}

// Their order counts: those before the first difference stay.
std::vector<Step> plan_rules(const std::vector<InForce> &before,
			     const std::vector<Statement> &wanted)
{
	const auto [old, fresh] = std::mismatch(
		before.begin(), before.end(), wanted.begin(), wanted.end(),
		[](const InForce &one, const Statement &text) { return one.text == text; });
	std::vector<Step> steps;

	for (auto rule = old; rule != before.end(); ++rule)
		steps.push_back({What::kRemove, rule->text});
	for (auto rule = fresh; rule != wanted.end(); ++rule)
		steps.push_back({What::kAdd, *rule});
	return steps;
}

void add_rule(const Statement &text)
{
	rule_add(rule_of(split(text)));
}

void remove_rule(const Statement &text)
{
	rule_del(rule_of(split(text)));
}

// ---- select netns | cgroup PATH | unit NAME ----

Selection selection_of(const Words &words)
{
	Reader reader(words);
	Selection what;

	if (reader.is("netns"))
		what.netns = "";
	else if (reader.is("cgroup"))
		what.cgroup = Cgroup::directory(reader.take("the cgroup"));
	else if (reader.is("unit"))
		what.unit = unit::full_name(reader.take("the unit"));
	else
		refuse("netns, cgroup or unit is missing");
	reader.end();
	return what;
}

Statement text_of(const Selection &what)
{
	if (what.netns)
		return "netns";
	if (!what.cgroup.empty())
		return "cgroup " + quoted(what.cgroup);
	return "unit " + quoted(what.unit);
}

std::vector<Statement> parse_selection(const Words &words)
{
	return {text_of(selection_of(words))};
}

std::vector<InForce> selections_in_force()
{
	std::vector<InForce> all;

	for (const Selected &selected : selections())
		all.push_back({text_of(selected.what), selected.passing});
	return all;
}

void add_selection(const Statement &text)
{
	select_add(selection_of(split(text)));
}

void remove_selection(const Statement &text)
{
	select_del(selection_of(split(text)));
}

} // namespace

const std::vector<Kind> &kinds()
{
	static const std::vector<Kind> kAll = {
		{"set", parse_setting, first_word, settings_in_force, plan_settings, add_setting,
		 nullptr},
		{"rules", parse_rule, whole, rules_in_force, plan_rules, add_rule, remove_rule},
		{"pnet", parse_pnet, behind_first_word, pnet_in_force, plan_pnet, add_pnet,
		 remove_pnet},
		{"eid", parse_eid, whole, eids_in_force, plan_set, eid_add, eid_del},
		{"select", parse_selection, whole, selections_in_force, plan_set, add_selection,
		 remove_selection},
	};
	return kAll;
}

} // namespace smc_ctl
