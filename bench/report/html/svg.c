/* SVG that may stand inside the page. What is drawn stays; scripts, titles, styles, links out of the file and whatever
 * else a browser could act on are left out: only what is listed here gets through. */
#include "report/html/html.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const ELEMENTS[] = {
    "circle", "clipPath", "defs", "ellipse", "feComposite",    "feFlood", "filter",
    "g",      "line",     "path", "polygon", "polyline",       "rect",    "text",
    "tspan",  "use",      "stop", "symbol",  "linearGradient", NULL,
};
static const char *const ATTRIBUTES[] = {
    "clip-path",
    "color",
    "cx",
    "cy",
    "d",
    "dx",
    "dy",
    "fill",
    "fill-opacity",
    "fill-rule",
    "filter",
    "filterUnits",
    "flood-color",
    "flood-opacity",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "height",
    "href",
    "id",
    "in",
    "in2",
    "offset",
    "opacity",
    "operator",
    "points",
    "r",
    "result",
    "rx",
    "ry",
    "shape-rendering",
    "stop-color",
    "stroke",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "transform",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "xlink:href",
    "xml:space",
    "y",
    "y1",
    "y2",
    NULL,
};
/* What may stand before a parenthesis; with "#" after it, a place in the same chart. */
static const char *const FUNCTIONS[] = {"matrix", "rgb",       "rgba",  "rotate", "scale",
                                        "skewX",  "translate", "url(#", NULL};

/* What an element inherits if no other around it says otherwise: the standard's initial values, and what the
 * root says here. gnuplot repeats them all in each of its thousands of groups. */
static const struct inherited {
    const char *name, *value;
    bool by_root;
} INHERITED[] = {
    {"color", "black", true},          {"font-family", "DejaVu Sans", true},
    {"stroke-linecap", "butt", false}, {"stroke-linejoin", "miter", false},
    {"stroke-width", "1.00", false},
};

enum { DEEPEST = 64, N_INHERITED = sizeof INHERITED / sizeof *INHERITED };

typedef struct span {
    const char *text;
    size_t length;
} span_t;

typedef struct element {
    span_t name;
    char *tag; /* not printed yet, as it may stay empty; NULL: printed */
    bool shown;
    bool elsewhere; /* in <defs>: it inherits where it is used */
    span_t inherits[N_INHERITED];
} element_t;

typedef struct svg {
    const char *at, *prefix, *label;
    FILE *out;
    element_t open[DEEPEST];
    size_t depth;
    bool done; /* the root element is closed */
} svg_t;

static bool is_text(span_t span, const char *text) {
    return span.length == strlen(text) && memcmp(span.text, text, span.length) == 0;
}

static bool is_same(span_t a, span_t b) {
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool is_listed(span_t span, const char *const *list) {
    for (size_t i = 0; list[i] != NULL; i++)
        if (is_text(span, list[i]))
            return true;
    return false;
}

static void skip_blanks(svg_t *svg) {
    svg->at += strspn(svg->at, " \t\r\n");
}

/* Empty: there is none. */
static span_t read_name(svg_t *svg) {
    const char *from = svg->at;
    while (isalnum((unsigned char)*svg->at) || (*svg->at != '\0' && strchr(":_.-", *svg->at)))
        svg->at++;
    return (span_t){from, (size_t)(svg->at - from)};
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool has_function_before(span_t value, size_t at) {
    for (size_t i = 0; FUNCTIONS[i] != NULL; i++) {
        const size_t length = strcspn(FUNCTIONS[i], "(");
        const bool local = FUNCTIONS[i][length] == '(';
        const size_t from = at - length;
        if (at >= length && memcmp(value.text + from, FUNCTIONS[i], length) == 0 &&
            (from == 0 || !isalnum((unsigned char)value.text[from - 1])) &&
            (!local || (at + 1 < value.length && value.text[at + 1] == '#')))
            return true;
    }
    return false;
}

/* Neither escapes of CSS nor of HTML can hide in it. */
static bool is_harmless(span_t value) {
    for (size_t i = 0; i < value.length; i++) {
        const char c = value.text[i];
        if (c == '(' ? !has_function_before(value, i)
                     : !isalnum((unsigned char)c) && strchr(" \t\r\n.,#%+-_:;)", c) == NULL)
            return false;
    }
    return true;
}

static bool is_reference(span_t name) {
    return is_text(name, "href") || is_text(name, "xlink:href");
}

/* With the prefix before each id in it. */
static void print_value(const svg_t *svg, span_t name, span_t value, FILE *out) {
    size_t from = 0;
    if (is_text(name, "id"))
        fputs(svg->prefix, out);
    if (is_reference(name)) {
        fprintf(out, "#%s", svg->prefix);
        from = 1;
    }
    for (size_t i = from; i < value.length; i++) {
        fputc(isspace((unsigned char)value.text[i]) ? ' ' : value.text[i], out);
        if (i >= 4 && memcmp(value.text + i - 4, "url(#", 5) == 0)
            fputs(svg->prefix, out);
    }
}

static void print_attribute(const svg_t *svg, span_t name, span_t value, FILE *out) {
    /* gnuplot's only style, which the page's security policy would refuse */
    static const char STYLE[] = "filter:url(#textbox)";
    if (is_text(name, "style") && is_text(value, STYLE)) {
        name = (span_t){STYLE, strlen("filter")};
        value = (span_t){STYLE + strlen("filter:"), strlen(STYLE) - strlen("filter:")};
    }
    if (!is_listed(name, ATTRIBUTES) || !is_harmless(value) ||
        (is_reference(name) && (value.length == 0 || *value.text != '#')))
        return;
    if (is_text(name, "xlink:href"))
        name = (span_t){"href", strlen("href")};
    fprintf(out, " %.*s=\"", (int)name.length, name.text);
    print_value(svg, name, value, out);
    fputc('"', out);
}

/* ---- elements -------------------------------------------------------------------------------- */

static void print_open_tags(svg_t *svg) {
    for (size_t d = 0; d < svg->depth; d++)
        if (svg->open[d].shown && svg->open[d].tag != NULL) {
            fputs(svg->open[d].tag, svg->out);
            free(svg->open[d].tag);
            svg->open[d].tag = NULL;
        }
}

/* One attribute; false: there is none. `*ok` becomes false if it is broken. */
static bool read_attribute(svg_t *svg, span_t *name, span_t *value, bool *ok) {
    skip_blanks(svg);
    *name = read_name(svg);
    if (name->length == 0)
        return false;
    skip_blanks(svg);
    *ok = *svg->at == '=';
    if (!*ok)
        return false;
    svg->at++;
    skip_blanks(svg);
    const char quote = *svg->at;
    const char *close = quote == '"' || quote == '\'' ? strchr(svg->at + 1, quote) : NULL;
    *ok = close != NULL;
    if (!*ok)
        return false;
    *value = (span_t){svg->at + 1, (size_t)(close - svg->at - 1)};
    svg->at = close + 1;
    return true;
}

static element_t element_named(const svg_t *svg, span_t name) {
    element_t element = {.name = name, .shown = true};
    if (svg->depth == 0) {
        for (size_t i = 0; i < N_INHERITED; i++)
            element.inherits[i] = (span_t){INHERITED[i].value, strlen(INHERITED[i].value)};
        return element;
    }
    const element_t *parent = &svg->open[svg->depth - 1];
    element.shown = parent->shown && is_listed(name, ELEMENTS);
    element.elsewhere = parent->elsewhere || is_text(name, "defs");
    memcpy(element.inherits, parent->inherits, sizeof element.inherits);
    return element;
}

/* Is it what the element inherits anyway? Else its children inherit it. */
static bool is_inherited(element_t *element, span_t name, span_t value) {
    for (size_t i = 0; i < N_INHERITED; i++)
        if (is_text(name, INHERITED[i].name)) {
            const bool same = is_same(element->inherits[i], value);
            element->inherits[i] = value;
            return same && !element->elsewhere;
        }
    return false;
}

static void print_root(const svg_t *svg, FILE *out) {
    fprintf(out, " class=\"chart\" role=\"img\" aria-label=\"%s\"", svg->label);
    for (size_t i = 0; i < N_INHERITED; i++)
        if (INHERITED[i].by_root)
            fprintf(out, " %s=\"%s\"", INHERITED[i].name, INHERITED[i].value);
}

/* The root has the size of the drawing and its name; all else of it is ours. */
static bool print_start(svg_t *svg, element_t *element, FILE *out) {
    const bool is_root = svg->depth == 0;
    span_t key, value;
    bool ok = true;
    fprintf(out, "<%.*s", (int)element->name.length, element->name.text);
    if (is_root)
        print_root(svg, out);
    while (read_attribute(svg, &key, &value, &ok))
        if (is_root ? is_text(key, "viewBox") : !is_inherited(element, key, value))
            print_attribute(svg, key, value, out);
    return ok;
}

/* After "<". */
static bool read_start(svg_t *svg) {
    const span_t name = read_name(svg);
    const bool is_root = svg->depth == 0;
    if (name.length == 0 || svg->depth == DEEPEST || svg->done ||
        (is_root && !is_text(name, "svg")))
        return false;
    element_t element = element_named(svg, name);
    size_t size;
    FILE *out = open_memstream(&element.tag, &size);
    bool ok = print_start(svg, &element, out);
    const bool is_empty = *svg->at == '/';
    svg->at += is_empty;
    ok = ok && *svg->at == '>' && !(is_root && is_empty);
    svg->at += ok;
    fputs(is_empty ? "/>" : ">", out);
    fclose(out);
    if (ok && !is_empty) {
        svg->open[svg->depth++] = element;
        return true;
    }
    if (ok && element.shown) {
        print_open_tags(svg);
        fputs(element.tag, svg->out);
    }
    free(element.tag);
    return ok;
}

/* After "</". A group without content is left out: half of gnuplot's are. */
static bool read_end(svg_t *svg) {
    const span_t name = read_name(svg);
    skip_blanks(svg);
    if (*svg->at != '>' || svg->depth == 0)
        return false;
    svg->at++;
    element_t *element = &svg->open[svg->depth - 1];
    const bool matches = is_same(name, element->name);
    if (element->shown && element->tag == NULL)
        fprintf(svg->out, "</%.*s>", (int)name.length, name.text);
    free(element->tag);
    svg->depth--;
    svg->done = svg->depth == 0;
    return matches;
}

/* Of elements with text alone. What the file escapes stays escaped. */
static void read_text(svg_t *svg) {
    const size_t length = strcspn(svg->at, "<");
    const element_t *parent = svg->depth > 0 ? &svg->open[svg->depth - 1] : NULL;
    if (parent != NULL && parent->shown &&
        (is_text(parent->name, "text") || is_text(parent->name, "tspan")) && length > 0) {
        print_open_tags(svg);
        for (size_t i = 0; i < length; i++)
            fputs(svg->at[i] == '>' ? "&gt;" : (char[]){svg->at[i], '\0'}, svg->out);
    }
    svg->at += length;
}

/* Past `end`; false: it does not come. */
static bool skip_past(svg_t *svg, const char *end) {
    const char *found = strstr(svg->at, end);
    svg->at = found != NULL ? found + strlen(end) : svg->at;
    return found != NULL;
}

static bool read_token(svg_t *svg) {
    if (*svg->at != '<') {
        read_text(svg);
        return true;
    }
    if (text_starts(svg->at, "<!--"))
        return skip_past(svg, "-->");
    if (text_starts(svg->at, "<?"))
        return skip_past(svg, "?>");
    svg->at++;
    if (*svg->at != '/')
        return read_start(svg);
    svg->at++;
    return read_end(svg);
}

char *svg_inline(const char *text, const char *prefix, const char *label) {
    svg_t svg = {.at = text, .prefix = prefix, .label = label};
    char *drawn;
    size_t size;
    bool ok = true;
    svg.out = open_memstream(&drawn, &size);
    while (ok && *svg.at != '\0')
        ok = read_token(&svg);
    fclose(svg.out);
    while (svg.depth > 0)
        free(svg.open[--svg.depth].tag);
    if (ok && svg.done)
        return drawn;
    free(drawn);
    return NULL;
}
