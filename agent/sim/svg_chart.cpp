// SPDX-License-Identifier: Apache-2.0
#include "sim/svg_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace mrc::sim
{

namespace
{

constexpr double width = 880;
constexpr double height = 340;
constexpr double left = 64;
constexpr double right = 260; // the legend's
constexpr double top = 34;
constexpr double bottom = 46;
constexpr std::array<const char *, 8> colours{"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                              "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"};

std::string escaped(const std::string &text)
{
    std::string result;
    for (const char each : text) {
        if (each == '&')
            result += "&amp;";
        else if (each == '<')
            result += "&lt;";
        else if (each == '>')
            result += "&gt;";
        else
            result += each;
    }
    return result;
}

// 1, 2 or 5 times a power of ten, so that about `count` steps fill `span`.
double round_step(double span, double count)
{
    const double rough = span / count;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough)
            return factor * power;
    return 10 * power;
}

class drawing
{
public:
    explicit drawing(const chart &what) : what_{what}
    {
        for (const chart_line &line : what.lines) {
            for (const auto &[x, y] : line.points) {
                least_x_ = std::min(least_x_, scaled(x));
                most_x_ = std::max(most_x_, scaled(x));
                most_y_ = std::max(most_y_, y);
            }
        }
        if (least_x_ >= most_x_) {
            least_x_ = 0;
            most_x_ = std::max(1.0, most_x_);
        }
        step_y_ = round_step(most_y_ > 0 ? most_y_ : 1, 5);
        most_y_ = std::ceil(std::max(most_y_, 1e-9) / step_y_) * step_y_;
    }

    std::string draw()
    {
        put("<!-- SPDX-License-Identifier: Apache-2.0 -->\n");
        put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:g} {:g}" )", width, height);
        put("font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
        put("<text x=\"{:g}\" y=\"20\" font-size=\"14\">{}</text>\n", left, escaped(what_.title));
        draw_y_axis();
        draw_x_axis();
        for (std::size_t i = 0; i < what_.lines.size(); ++i)
            draw_line(what_.lines[i], i);
        put("</svg>\n");
        return out_;
    }

private:
    template <class... Args>
    void put(fmt::format_string<Args...> format, Args &&...args)
    {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    }
    [[nodiscard]] double scaled(double x) const { return what_.log_x ? std::log2(x) : x; }
    [[nodiscard]] double at_x(double x) const
    {
        return left + (scaled(x) - least_x_) / (most_x_ - least_x_) * (width - left - right);
    }
    [[nodiscard]] double at_y(double y) const { return height - bottom - y / most_y_ * (height - top - bottom); }

    void draw_y_axis()
    {
        for (double y = 0; y <= most_y_ * 1.0001; y += step_y_) {
            put("<path d=\"M{:g} {:.1f}H{:g}\" stroke=\"#ddd\"/>", left, at_y(y), width - right);
            put("<text x=\"{:g}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", left - 6, at_y(y) + 4, y);
        }
        put("<text transform=\"translate(14 {:g}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            (height - bottom + top) / 2, escaped(what_.y_label));
    }

    void draw_x_tick(double x, const std::string &name)
    {
        put("<path d=\"M{:.1f} {:g}v5\" stroke=\"#444\"/>", at_x(x), height - bottom);
        put("<text x=\"{:.1f}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n", at_x(x), height - bottom + 18,
            escaped(name));
    }

    void draw_x_axis()
    {
        put("<path d=\"M{:g} {:g}H{:g}\" stroke=\"#444\"/>\n", left, height - bottom, width - right);
        for (const auto &[x, name] : what_.x_names)
            draw_x_tick(x, name);
        if (what_.x_names.empty()) {
            const double step = round_step(most_x_ - least_x_, 8);
            for (double x = std::ceil(least_x_ / step) * step; x <= most_x_ + step * 1e-6; x += step)
                draw_x_tick(x, fmt::format("{:g}", x));
        }
        put("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n", (left + width - right) / 2, height - 8,
            escaped(what_.x_label));
    }

    void draw_line(const chart_line &line, std::size_t index)
    {
        const char *colour = colours.at(index % colours.size());
        const char *dash = line.dashed ? " stroke-dasharray=\"5 3\"" : "";
        std::string path;
        for (const auto &[x, y] : line.points)
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x(x), at_y(y));
        put("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}/>\n", path, colour, dash);
        const double y = top + 10 + 18 * static_cast<double>(index);
        const double x = width - right + 12;
        put("<path d=\"M{:g} {:g}h20\" stroke=\"{}\" stroke-width=\"2\"{}/>", x, y, colour, dash);
        put("<text x=\"{:g}\" y=\"{:g}\">{}</text>\n", x + 26, y + 4, escaped(line.name));
    }

    const chart &what_;
    std::string out_;
    double least_x_ = std::numeric_limits<double>::max();
    double most_x_ = std::numeric_limits<double>::lowest();
    double most_y_ = 0;
    double step_y_ = 1;
};

} // namespace

std::string to_svg(const chart &what)
{
    return drawing{what}.draw();
}

} // namespace mrc::sim
