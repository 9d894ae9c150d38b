"""Figures as the program's texts write them, and patterns that find them."""

BYTES = r"[\d.]+ (?:B|kB|MB|GB|TB)"
TIME = r"(?:[\d.]+ m?s|\d+ min \d\d s|\d+ h \d\d min|\d+ d \d\d h)"
SPAN = rf"(?:{TIME}|less than 1 ms)"  # a length of time: an event's is known to a millisecond
COUNT = r"\d[\d,]*"
PERCENT = r"(?:< )?[\d.]+ %"


def scaled(value):
    for unit in (" ", "k", "M", "G", "T", "P"):
        if value < 999.95:
            return value, unit
        value /= 1000
    return value, "E"


def in_bytes(value):
    if value < 1000:
        return f"{value} B"
    number, unit = scaled(value)
    return f"{number:.1f} {unit}B"


def in_table(value):
    if value < 1000:
        return str(value)
    number, unit = scaled(value)
    return f"{number:.1f}{'K' if unit == 'k' else unit}"


def in_kde_words(value):
    unit = 0
    while value > 1000 and unit < 6:
        value, unit = value / 1000, unit + 1
    return f"{value:.2f}{'BKMGTPE'[unit]}" if unit else f"{value}B"


def in_percent(part, whole):
    share = 100 * part / whole if whole else 0
    if part == 0 or whole == 0:
        return "0 %"
    if share < 0.1:
        return "< 0.1 %"
    if share < 9.95:
        return f"{share:.1f} %"
    return "99 %" if part < whole and share > 99 else f"{share:.0f} %"


def in_time(ns):
    seconds = int(ns // 1e9)
    if ns < 10e6:
        return f"{ns / 1e6:.1f} ms"
    if ns < 999.5e6:
        return f"{ns / 1e6:.0f} ms"
    if ns < 119.995e9:
        return f"{ns / 1e9:.2f} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    if seconds < 86400:
        return f"{seconds // 3600} h {seconds // 60 % 60:02} min"
    return f"{seconds // 86400} d {seconds // 3600 % 24:02} h"


def in_span(ns):
    return "less than 1 ms" if ns < 1e6 else in_time(ns)
