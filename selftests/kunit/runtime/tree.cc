// SPDX-License-Identifier: GPL-2.0-only
//
// The functions that std::map and std::set call in the library: a search tree, here without
// balance, since the tests' trees have a few dozen nodes. A node is never red: that is how the
// library tells the header.
#include <set>

namespace std {
namespace {

_Rb_tree_node_base *next(_Rb_tree_node_base *node)
{
	if (node->_M_right != nullptr)
		return _Rb_tree_node_base::_S_minimum(node->_M_right);
	_Rb_tree_node_base *above = node->_M_parent;
	while (node == above->_M_right) {
		node = above;
		above = above->_M_parent;
	}
	// From the root's last node it leads to the header, which has the root as its parent.
	return node->_M_right == above ? node : above;
}

_Rb_tree_node_base *previous(_Rb_tree_node_base *node)
{
	if (node->_M_color == _S_red && node->_M_parent->_M_parent == node)
		return node->_M_right;
	if (node->_M_left != nullptr)
		return _Rb_tree_node_base::_S_maximum(node->_M_left);
	_Rb_tree_node_base *above = node->_M_parent;
	while (node == above->_M_left) {
		node = above;
		above = above->_M_parent;
	}
	return above;
}

} // namespace

_Rb_tree_node_base *_Rb_tree_increment(_Rb_tree_node_base *node) noexcept
{
	return next(node);
}

const _Rb_tree_node_base *_Rb_tree_increment(const _Rb_tree_node_base *node) noexcept
{
	return next(const_cast<_Rb_tree_node_base *>(node));
}

_Rb_tree_node_base *_Rb_tree_decrement(_Rb_tree_node_base *node) noexcept
{
	return previous(node);
}

const _Rb_tree_node_base *_Rb_tree_decrement(const _Rb_tree_node_base *node) noexcept
{
	return previous(const_cast<_Rb_tree_node_base *>(node));
}

void _Rb_tree_insert_and_rebalance(const bool left, _Rb_tree_node_base *node,
				   _Rb_tree_node_base *parent, _Rb_tree_node_base &header) noexcept
{
	node->_M_parent = parent;
	node->_M_left = nullptr;
	node->_M_right = nullptr;
	node->_M_color = _S_black;
	if (parent == &header) {
		header._M_parent = node;
		header._M_left = node;
		header._M_right = node;
	} else if (left) {
		parent->_M_left = node;
		if (parent == header._M_left)
			header._M_left = node;
	} else {
		parent->_M_right = node;
		if (parent == header._M_right)
			header._M_right = node;
	}
}

} // namespace std
