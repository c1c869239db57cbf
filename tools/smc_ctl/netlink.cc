// SPDX-License-Identifier: GPL-2.0-only
#include "netlink.hpp"

#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

namespace smc_ctl {
namespace {

struct FreeMessage {
	void operator()(nl_msg *message) const { nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, FreeMessage>;

struct PutCallbacks {
	void operator()(nl_cb *callbacks) const { nl_cb_put(callbacks); }
};
using Callbacks = std::unique_ptr<nl_cb, PutCallbacks>;

[[noreturn]] void fail_in_libnl(const std::string &what, int error)
{
	// libnl has error numbers of its own; its text says more than a guessed errno.
	throw NetlinkError(what + ": " + nl_geterror(error), 0);
}

// One exchange, for libnl's C callbacks. Exceptions must not cross C, so they are kept here.
struct Exchange {
	const std::function<void(const nlmsghdr &)> &answer;
	std::exception_ptr thrown = nullptr;
	int kernel_errno = 0;
	bool over = false;
};

int on_answer(nl_msg *message, void *context)
{
	auto &exchange = *static_cast<Exchange *>(context);
	try {
		exchange.answer(*nlmsg_hdr(message));
	} catch (...) {
		exchange.thrown = std::current_exception();
		exchange.over = true;
		return NL_STOP;
	}
	return NL_OK;
}

int on_end(nl_msg *, void *context)
{
	static_cast<Exchange *>(context)->over = true;
	return NL_STOP;
}

int on_error(sockaddr_nl *, nlmsgerr *error, void *context)
{
	auto &exchange = *static_cast<Exchange *>(context);
	exchange.kernel_errno = -error->error;
	exchange.over = true;
	return NL_STOP;
}

} // namespace

NetlinkError::NetlinkError(const std::string &what, int code)
	: std::runtime_error(code ? what + ": " + std::strerror(code) : what), code_(code)
{
}

Attributes::Attributes(const nlattr *first, int length_bytes)
{
	for (const nlattr *at = first; nla_ok(at, length_bytes); at = nla_next(at, &length_bytes))
		attributes_.emplace(nla_type(at), at);
}

std::uint64_t Attributes::number(int type) const
{
	const auto found = attributes_.find(type);
	if (found == attributes_.end())
		return 0;
	switch (nla_len(found->second)) {
	case 1: return nla_get_u8(found->second);
	case 2: return nla_get_u16(found->second);
	case 4: return nla_get_u32(found->second);
	case 8: return nla_get_u64(found->second);
	default: return 0;
	}
}

std::string Attributes::text(int type) const
{
	const auto found = attributes_.find(type);
	if (found == attributes_.end())
		return {};
	const auto *bytes = static_cast<const char *>(nla_data(found->second));
	std::string text(bytes, strnlen(bytes, static_cast<std::size_t>(nla_len(found->second))));
	text.erase(text.find_last_not_of(' ') + 1);
	return text;
}

Attributes Attributes::nest(int type) const
{
	const auto found = attributes_.find(type);
	if (found == attributes_.end())
		return {};
	return {static_cast<const nlattr *>(nla_data(found->second)), nla_len(found->second)};
}

const void *Attributes::data(int type, std::size_t size_bytes) const
{
	const auto found = attributes_.find(type);
	if (found == attributes_.end() ||
	    static_cast<std::size_t>(nla_len(found->second)) < size_bytes)
		return nullptr;
	return nla_data(found->second);
}

bool Attributes::copy(int type, void *to, std::size_t size_bytes) const
{
	const auto found = attributes_.find(type);
	if (found == attributes_.end())
		return false;
	const auto length_bytes = static_cast<std::size_t>(nla_len(found->second));
	std::memcpy(to, nla_data(found->second), std::min(size_bytes, length_bytes));
	return true;
}

Socket::Socket(int protocol) : socket_(nl_socket_alloc())
{
	if (!socket_)
		throw std::bad_alloc();
	if (const int error = nl_connect(socket_, protocol); error < 0) {
		nl_socket_free(socket_);
		fail_in_libnl("netlink", error);
	}
}

Socket::~Socket()
{
	nl_socket_free(socket_);
}

void Socket::exchange(nl_msg *message, const std::function<void(const nlmsghdr &)> &answer)
{
	Exchange exchange{answer};
	const Callbacks callbacks(nl_cb_alloc(NL_CB_DEFAULT));
	if (!callbacks)
		throw std::bad_alloc();
	nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, on_answer, &exchange);
	nl_cb_set(callbacks.get(), NL_CB_FINISH, NL_CB_CUSTOM, on_end, &exchange);
	nl_cb_set(callbacks.get(), NL_CB_ACK, NL_CB_CUSTOM, on_end, &exchange);
	nl_cb_err(callbacks.get(), NL_CB_CUSTOM, on_error, &exchange);

	if (const int error = nl_send_auto(socket_, message); error < 0)
		fail_in_libnl("netlink", error);
	while (!exchange.over) {
		const int error = nl_recvmsgs(socket_, callbacks.get());
		if (error < 0 && !exchange.over)
			fail_in_libnl("netlink", error);
	}
	if (exchange.thrown)
		std::rethrow_exception(exchange.thrown);
	if (exchange.kernel_errno)
		throw NetlinkError("kernel", exchange.kernel_errno);
}

Family::Family(const char *name, std::uint8_t version)
	: socket_(NETLINK_GENERIC), id_(genl_ctrl_resolve(socket_.handle(), name)),
	  version_(version)
{
	if (id_ == -NLE_OBJ_NOTFOUND)
		throw NetlinkError("smc.ko is not loaded", 0);
	if (id_ < 0)
		fail_in_libnl(name, id_);
}

void Family::request(std::uint8_t command, const Fill &fill)
{
	send(command, NLM_F_ACK, fill, {});
}

void Family::dump(std::uint8_t command, const Visit &visit)
{
	send(command, NLM_F_DUMP, {}, visit);
}

void Family::send(std::uint8_t command, int flags, const Fill &fill, const Visit &visit)
{
	const Message message(nlmsg_alloc());
	if (!message || !genlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ, id_, 0, flags,
				     command, version_))
		throw std::bad_alloc();
	if (fill)
		fill(*message);
	socket_.exchange(message.get(), [&](const nlmsghdr &header) {
		auto *generic = static_cast<genlmsghdr *>(nlmsg_data(&header));
		if (visit)
			visit(generic->cmd, Attributes(genlmsg_attrdata(generic, 0),
						       genlmsg_attrlen(generic, 0)));
	});
}

void put_text(nl_msg &message, int type, const std::string &text)
{
	if (nla_put_string(&message, type, text.c_str()) < 0)
		throw std::length_error("text does not fit into a message");
}

void put_u8(nl_msg &message, int type, std::uint8_t value)
{
	if (nla_put_u8(&message, type, value) < 0)
		throw std::length_error("number does not fit into a message");
}

void put_u16(nl_msg &message, int type, std::uint16_t value)
{
	if (nla_put_u16(&message, type, value) < 0)
		throw std::length_error("number does not fit into a message");
}

void put_bytes(nl_msg &message, int type, const void *bytes, std::size_t size_bytes)
{
	if (nla_put(&message, type, static_cast<int>(size_bytes), bytes) < 0)
		throw std::length_error("bytes do not fit into a message");
}

} // namespace smc_ctl
