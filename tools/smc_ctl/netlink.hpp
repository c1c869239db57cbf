// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

struct nl_msg;
struct nl_sock;
struct nlattr;
struct nlmsghdr;

namespace smc_ctl {

// The kernel refused, or could not be asked.
class NetlinkError : public std::runtime_error {
public:
	// @code: an errno, or 0 if @what is the whole message.
	NetlinkError(const std::string &what, int code);

	[[nodiscard]] int code() const { return code_; }

private:
	int code_;
};

// One level of attributes. Points into the message, and is valid as long as that.
class Attributes {
public:
	Attributes() = default;
	Attributes(const nlattr *first, int length_bytes);

	[[nodiscard]] bool has(int type) const { return attributes_.contains(type); }
	// An unsigned integer of 1, 2, 4 or 8 bytes; 0 if it is not there.
	[[nodiscard]] std::uint64_t number(int type) const;
	// Without blanks at the end; empty if it is not there.
	[[nodiscard]] std::string text(int type) const;
	// Empty if it is not there.
	[[nodiscard]] Attributes nest(int type) const;
	// Raw bytes of an attribute with at least @size_bytes, else nullptr.
	[[nodiscard]] const void *data(int type, std::size_t size_bytes) const;
	// What fits into @to of a structure that may have grown since, or may grow still; the rest
	// of @to is left alone. False if it is not there.
	template <typename T>
	[[nodiscard]] bool copy(int type, T &to) const
	{
		return copy(type, &to, sizeof(to));
	}

private:
	[[nodiscard]] bool copy(int type, void *to, std::size_t size_bytes) const;

	std::map<int, const nlattr *> attributes_;
};

// A netlink socket. Not for threads.
class Socket {
public:
	explicit Socket(int protocol);
	~Socket();
	Socket(const Socket &) = delete;
	Socket &operator=(const Socket &) = delete;

	[[nodiscard]] nl_sock *handle() const { return socket_; }
	// Sends @message and calls @answer for each message that comes back until the end or the
	// acknowledgement. Throws NetlinkError.
	void exchange(nl_msg *message, const std::function<void(const nlmsghdr &)> &answer);

private:
	nl_sock *socket_;
};

// A generic netlink family.
class Family {
public:
	// Throws NetlinkError, for one if smc.ko is not loaded.
	Family(const char *name, std::uint8_t version);

	using Fill = std::function<void(nl_msg &)>;
	using Visit = std::function<void(std::uint8_t command, const Attributes &)>;

	// Asks for one thing to be done; @fill adds the attributes.
	void request(std::uint8_t command, const Fill &fill = {});
	// Calls @visit for each message of a dump.
	void dump(std::uint8_t command, const Visit &visit);

private:
	void send(std::uint8_t command, int flags, const Fill &fill, const Visit &visit);

	Socket socket_;
	int id_;
	std::uint8_t version_;
};

void put_text(nl_msg &message, int type, const std::string &text);
void put_u8(nl_msg &message, int type, std::uint8_t value);
void put_u16(nl_msg &message, int type, std::uint16_t value);
void put_bytes(nl_msg &message, int type, const void *bytes, std::size_t size_bytes);

} // namespace smc_ctl
