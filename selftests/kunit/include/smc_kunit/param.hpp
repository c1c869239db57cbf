// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "smc_kunit/test.hpp"

// TEST_P() and INSTANTIATE_TEST_SUITE_P(): a case for each value.
namespace testing {

template <class Param>
class TestWithParam : public Test {
public:
	using ParamType = Param;

	static const Param &GetParam() { return *current_; }
	static void set_param(const Param &param) { current_ = &param; }

private:
	// Cases run one after the other.
	static inline const Param *current_ = nullptr;
};

namespace internal {

// The result of Values() and the like: as<T>() are the values, once the parameter's type is known.
template <class... Types>
class Listed {
public:
	explicit Listed(Types... values) : values_(values...) {}

	template <class Param>
	std::vector<Param> as() const
	{
		return std::apply(
			[](const auto &...value) {
				return std::vector<Param>{static_cast<Param>(value)...};
			},
			values_);
	}

private:
	std::tuple<Types...> values_;
};

template <class... Generators>
class Combined {
public:
	explicit Combined(Generators... generators) : generators_(generators...) {}

	// The last one changes fastest.
	template <class Tuple>
	std::vector<Tuple> as() const
	{
		std::vector<Tuple> all;
		Tuple tuple;
		add<Tuple, 0>(all, tuple);
		return all;
	}

private:
	template <class Tuple, std::size_t Index>
	void add(std::vector<Tuple> &all, Tuple &tuple) const
	{
		if constexpr (Index == sizeof...(Generators)) {
			all.push_back(tuple);
		} else {
			using Element = std::tuple_element_t<Index, Tuple>;
			for (const Element &value :
			     std::get<Index>(generators_).template as<Element>()) {
				std::get<Index>(tuple) = value;
				add<Tuple, Index + 1>(all, tuple);
			}
		}
	}

	std::tuple<Generators...> generators_;
};

template <class Element>
class Range {
public:
	Range(const Element *begin, const Element *end) : begin_(begin), end_(end) {}

	template <class Param>
	std::vector<Param> as() const
	{
		return {begin_, end_};
	}

private:
	const Element *begin_;
	const Element *end_;
};

// The cases of one TEST_P suite and their values, in any order of registration.
template <class Fixture>
class ParamSuite {
	using Param = typename Fixture::ParamType;
	using MakeFixture = Fixture *(*)();

public:
	static ParamSuite &only()
	{
		static ParamSuite suite;
		return suite;
	}

	bool add_case(const char *file, const char *suite, const char *name, MakeFixture make)
	{
		file_ = file;
		suite_ = suite;
		cases_.push_back({name, make});
		for (const Instance &instance : instances_)
			register_all(cases_.back(), instance);
		return true;
	}

	bool add_instance(const char *name, std::vector<Param> params)
	{
		instances_.push_back({name, std::move(params)});
		for (const Case &found : cases_)
			register_all(found, instances_.back());
		return true;
	}

private:
	struct Case {
		const char *name;
		MakeFixture make;
	};
	struct Instance {
		const char *name;
		std::vector<Param> params;
	};

	void register_all(const Case &found, const Instance &instance) const
	{
		for (std::size_t i = 0; i < instance.params.size(); i++) {
			const auto make = [make = found.make,
					   param = instance.params[i]]() -> Test * {
				Fixture::set_param(param);
				return make();
			};
			register_case(file_, instance.name + ("/" + suite_),
				      found.name + ("/" + std::to_string(i)), make);
		}
	}

	const char *file_ = nullptr;
	std::string suite_;
	std::vector<Case> cases_;
	std::vector<Instance> instances_;
};

} // namespace internal

template <class... Types>
auto Values(Types... values)
{
	return internal::Listed<Types...>(values...);
}

inline auto Bool()
{
	return Values(false, true);
}

template <class Element, std::size_t Size>
auto ValuesIn(const Element (&values)[Size])
{
	return internal::Range<Element>(std::begin(values), std::end(values));
}

template <class... Generators>
auto Combine(Generators... generators)
{
	return internal::Combined<Generators...>(generators...);
}

} // namespace testing

#define TEST_P(suite, name)                                                            \
	class SMC_KUNIT_CLASS(suite, name) final : public suite {                      \
		void TestBody() override;                                              \
	};                                                                             \
	[[maybe_unused]] const bool suite##_##name##_is_registered =                   \
		::testing::internal::ParamSuite<suite>::only().add_case(               \
			__FILE__, #suite, #name,                                       \
			[]() -> suite * { return new SMC_KUNIT_CLASS(suite, name); }); \
	void SMC_KUNIT_CLASS(suite, name)::TestBody()

#define INSTANTIATE_TEST_SUITE_P(instance, suite, ...)                       \
	[[maybe_unused]] const bool suite##_##instance##_is_instantiated =   \
		::testing::internal::ParamSuite<suite>::only().add_instance( \
			#instance, (__VA_ARGS__).as<suite::ParamType>())
