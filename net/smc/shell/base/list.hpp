// SPDX-License-Identifier: GPL-2.0-only
//
// Doubly linked lists whose nodes live inside the objects: no allocation, removal without a search.
// A List does not own its objects, a RefList holds a reference to each. A lock of the list's owner
// covers both.
#pragma once

#include <utility>

#include "kernel/abi/types.h"
#include "shell/base/ref.hpp"

namespace smc::shell {

// Base of an object that can stand in one list of this kind at a time.
template <class Tag>
class ListNode {
public:
	ListNode() = default;
	ListNode(const ListNode &) = delete;
	ListNode &operator=(const ListNode &) = delete;

private:
	template <class T, class U>
	friend class List;

	[[nodiscard]] bool linked() const { return next_ != nullptr; }

	ListNode *next_ = nullptr;
	ListNode *prev_ = nullptr;
};

template <class T, class Tag>
class List {
	using Node = ListNode<Tag>;

public:
	List() { head_.next_ = head_.prev_ = &head_; }
	List(const List &) = delete;
	List &operator=(const List &) = delete;

	[[nodiscard]] bool empty() const { return head_.next_ == &head_; }
	[[nodiscard]] u32 size() const { return size_; }
	// In this list, or another one of this kind.
	[[nodiscard]] static bool linked(const T &object)
	{
		const Node &node = object;
		return node.linked();
	}

	void push_back(T &object) { insert(object, *head_.prev_); }

	// Behind @before, which is in this list; nullptr: at the front.
	void insert_behind(T *before, T &object)
	{
		insert(object, before != nullptr ? static_cast<Node &>(*before) : head_);
	}

	// Does nothing if it is in no list; it must not be in another one of this kind.
	void remove(T &object)
	{
		Node &node = object;
		if (!node.linked())
			return;
		node.prev_->next_ = node.next_;
		node.next_->prev_ = node.prev_;
		node.next_ = node.prev_ = nullptr;
		size_--;
	}

	[[nodiscard]] T *front() const { return empty() ? nullptr : object_of(head_.next_); }
	[[nodiscard]] T *back() const { return empty() ? nullptr : object_of(head_.prev_); }

	[[nodiscard]] T *pop_front()
	{
		T *object = front();
		if (object != nullptr)
			remove(*object);
		return object;
	}

	// The one before it, or nullptr.
	[[nodiscard]] T *previous(const T &object) const
	{
		const Node &node = object;
		return node.prev_ == &head_ ? nullptr : object_of(node.prev_);
	}

	// The one behind it, or nullptr.
	[[nodiscard]] T *next(const T &object) const
	{
		const Node &node = object;
		return node.next_ == &head_ ? nullptr : object_of(node.next_);
	}

private:
	void insert(T &object, Node &before)
	{
		Node &node = object;
		node.prev_ = &before;
		node.next_ = before.next_;
		before.next_->prev_ = &node;
		before.next_ = &node;
		size_++;
	}

	static T *object_of(Node *node) { return static_cast<T *>(node); }

	Node head_;
	u32 size_ = 0;
};

template <class T, class Tag>
class RefList : private List<T, Tag> {
	using Base = List<T, Tag>;

public:
	using Base::back;
	using Base::empty;
	using Base::front;
	using Base::linked;
	using Base::next;
	using Base::previous;
	using Base::size;

	void push_back(Ref<T> object) { Base::push_back(*object.release()); }
	void insert_behind(T *before, Ref<T> object)
	{
		Base::insert_behind(before, *object.release());
	}
	// Its reference; none if it is in no list.
	[[nodiscard]] Ref<T> remove(T &object)
	{
		if (!linked(object))
			return {};
		Base::remove(object);
		return Ref<T>::adopt(&object);
	}
	[[nodiscard]] Ref<T> pop_front() { return Ref<T>::adopt(Base::pop_front()); }
};

} // namespace smc::shell
