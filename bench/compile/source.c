#include "compile/source.h"

#include "base/memory.h"
#include "io/fs.h"

#include <ctype.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* ==== tokens of a source ====================================================================== */

/* The scanner of source_strip(): just enough of C++'s first translation phases to tell code
 * from comments and literals. */

typedef struct scanner {
    const char *text, *at; /* lines that end with a backslash are joined */
    const size_t *joins;   /* where, ascending */
    size_t n_joins;
    char *out; /* no longer than the text: each step writes at most what it reads */
    size_t n;
    bool line_start;
    includes_t *includes;
} scanner_t;

/* ---- lines ------------------------------------------------------------------------------------ */

/* The first reason stays. */
static void refuse(includes_t *includes, size_t line, const char *what) {
    if (includes->refused == NULL)
        includes->refused = mem_format("%zu: %s", line, what);
}

/* Compilers join a line that ends with a backslash with the next one before anything else. Where they differ, one could
 * see an #include where the other sees a comment. */
static char *join_lines(const char *text, size_t *joins, size_t *n_joins, includes_t *includes) {
    char *joined = mem_alloc(strlen(text) + 1), *to = joined;
    size_t line = 1;
    for (const char *at = text; *at != '\0'; at++) {
        const size_t blanks = *at == '\\' ? strspn(at + 1, " \t\v\f") : 0;
        const char *end = at + 1 + blanks;
        end += *end == '\r' && end[1] == '\n';
        if (*at == '\\' && *end == '\n' && blanks > 0)
            refuse(includes, line, "blanks after a backslash that ends the line: remove them");
        if (*at == '\r' && at[1] != '\n')
            refuse(includes, line, "a carriage return inside a line: remove it");
        if (*at == '\\' && *end == '\n') {
            joins[(*n_joins)++] = (size_t)(to - joined);
            at = end;
        } else {
            *to++ = *at;
        }
        line += *at == '\n';
    }
    *to = '\0';
    return joined;
}

static size_t joins_up_to(const scanner_t *scan, const char *at) {
    size_t n = 0;
    while (n < scan->n_joins && scan->joins[n] <= (size_t)(at - scan->text))
        n++;
    return n;
}

static size_t line_of(const scanner_t *scan, const char *at) {
    size_t line = 1 + joins_up_to(scan, at);
    for (const char *c = scan->text; c < at; c++)
        line += *c == '\n';
    return line;
}

/* ---- tokens ----------------------------------------------------------------------------------- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static void keep(scanner_t *scan, size_t length) {
    memcpy(scan->out + scan->n, scan->at, length);
    scan->n += length;
    scan->at += length;
}

/* Replace a comment or literal by one space, which keeps its neighbours separate. */
static void blank_to(scanner_t *scan, const char *end) {
    scan->out[scan->n++] = ' ';
    scan->at = end;
}

static const char *line_comment_end(const char *at) {
    return at + strcspn(at, "\n");
}

static const char *block_comment_end(const char *at) {
    const char *end = strstr(at + 2, "*/");
    return end != NULL ? end + 2 : at + strlen(at);
}

/* An unmatched apostrophe (in the text of an #error) ends with its line. */
static const char *literal_end(const char *at) {
    char quote = *at++;
    while (*at != '\0' && *at != '\n' && *at != quote)
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* R"delimiter( … )delimiter": `at` is at the quote. NULL if it is not a raw literal. */
static const char *raw_literal_end(const char *at) {
    const char *open = strpbrk(at + 1, "(\n");
    if (open == NULL || *open != '(' || open - at > 17) /* a delimiter has at most 16 characters */
        return NULL;
    AUTO_FREE char *close = mem_format(")%.*s\"", (int)(open - at - 1), at + 1);
    const char *end = strstr(open, close);
    end = end != NULL ? end + strlen(close) : at + strlen(at);
    return end;
}

/* A name, or a raw literal with its prefix. */
static void scan_name(scanner_t *scan) {
    size_t length = 1;
    while (is_word(scan->at[length]))
        length++;
    const char *end = NULL;
    if (scan->at[length] == '"' && scan->at[length - 1] == 'R' && length <= 3)
        end = raw_literal_end(scan->at + length);
    if (end != NULL && joins_up_to(scan, end - 1) > joins_up_to(scan, scan->at + length))
        refuse(scan->includes, line_of(scan, scan->at),
               "a raw literal with a backslash at the end of a line: write it without");
    if (end != NULL)
        blank_to(scan, end);
    else
        keep(scan, length);
}

/* The apostrophe in 1'000 opens no literal. */
static void scan_number(scanner_t *scan) {
    size_t length = 1;
    while (is_word(scan->at[length]) || scan->at[length] == '.' ||
           (scan->at[length] == '\'' && is_word(scan->at[length + 1])))
        length++;
    keep(scan, length);
}

/* ---- directives ------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at) {
    for (;;)
        if (at[0] == '/' && at[1] == '*')
            at = block_comment_end(at);
        else if (*at != '\0' && strchr(" \t\v\f\r", *at) != NULL)
            at++;
        else
            return at;
}

static bool takes_word(const char **at, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0 || is_word((*at)[length]))
        return false;
    *at = skip_blanks(*at + length);
    return true;
}

static void note_quoted(scanner_t *scan, const char *from, const char *end) {
    AUTO_FREE char *name = mem_text_n(from, (size_t)(end - from));
    if (!text_list_has(&scan->includes->quoted, name)) {
        text_list_add(&scan->includes->quoted, name);
        text_list_add_format(&scan->includes->lines, "%zu", line_of(scan, from));
    }
}

/* At the '#' or "%:" that may start a directive: note the header of an #include and drop the directive; false for other
 * directives. */
static bool scan_include(scanner_t *scan, size_t mark) {
    const char *at = skip_blanks(scan->at + mark);
    if (takes_word(&at, "include_next") || takes_word(&at, "import"))
        refuse(scan->includes, line_of(scan, at), "expected #include");
    if (!takes_word(&at, "include"))
        return false;
    const bool is_quoted = *at == '"', is_bracketed = *at == '<';
    const char *end = is_quoted      ? strpbrk(at + 1, "\"\n")
                      : is_bracketed ? strpbrk(at, ">\n")
                                     : NULL;
    if (!is_quoted && !is_bracketed)
        refuse(scan->includes, line_of(scan, at), "#include of a macro: expected the file's name");
    if (end == NULL || *end == '\n')
        return false;
    if (is_quoted) {
        note_quoted(scan, at + 1, end);
    } else {
        AUTO_FREE char *name = mem_text_n(at + 1, (size_t)(end - at - 1));
        scan->includes->system = true;
        if (source_leaves_folder(name))
            refuse(scan->includes, line_of(scan, at),
                   "#include <…> of a path: expected a CUDA header");
    }
    blank_to(scan, end + 1);
    return true;
}

static bool is_directive(const char *at, size_t *mark) {
    *mark = at[0] == '#' ? 1 : at[0] == '%' && at[1] == ':' ? 2 : 0;
    return *mark > 0;
}

bool source_leaves_folder(const char *name) {
    AUTO(text_list_free) text_list_t parts = text_split(name, '/');
    return name[0] == '/' || text_list_has(&parts, "..");
}

static void scan_all(scanner_t *scan) {
    size_t mark;
    while (*scan->at != '\0') {
        const char *at = scan->at;
        bool line_start = scan->line_start;
        scan->line_start = *at == '\n' || (line_start && isspace((unsigned char)*at));
        if (at[0] == '/' && at[1] == '/') {
            blank_to(scan, line_comment_end(at));
        } else if (at[0] == '/' && at[1] == '*') {
            blank_to(scan, block_comment_end(at));
            scan->line_start = line_start;
        } else if (*at == '"' || *at == '\'') {
            blank_to(scan, literal_end(at));
        } else if (isdigit((unsigned char)*at)) {
            scan_number(scan);
        } else if (is_word(*at)) {
            scan_name(scan);
        } else if (!(line_start && is_directive(at, &mark) && scan_include(scan, mark))) {
            keep(scan, 1);
        }
    }
}

char *source_strip(const char *text, includes_t *includes) {
    AUTO_FREE size_t *joins = mem_alloc((strlen(text) + 1) * sizeof *joins);
    scanner_t scan = {.joins = joins, .line_start = true, .includes = includes};
    AUTO_FREE char *joined = join_lines(text, joins, &scan.n_joins, includes);
    scan.text = scan.at = joined;
    scan.out = mem_alloc(strlen(joined) + 1);
    scan_all(&scan);
    scan.out[scan.n] = '\0';
    return scan.out;
}

void includes_free(includes_t *includes) {
    text_list_free(&includes->quoted);
    text_list_free(&includes->lines);
    free(includes->refused);
    *includes = (includes_t){0};
}

/* ==== what a source says ====================================================================== */

/* State of reading one source and its headers. */
typedef struct reader {
    char *root;          /* resolved */
    text_list_t folders; /* resolved, of kernels: nothing outside them is read */
    source_t *source;
    text_list_t files;   /* resolved paths, in the order of inclusion */
    text_list_t written; /* headers as spelled in #include "…" … */
    text_list_t meant;   /* … and the name of the file found */
    size_t code_bytes;   /* of source->code */
} reader_t;

static size_t list_index(const text_list_t *list, const char *item) {
    size_t i = 0;
    while (i < list->n && strcmp(list->items[i], item) != 0)
        i++;
    return i;
}

/* Path below the project's folder; for files outside it, the path itself. */
static const char *name_below(const char *root, const char *path) {
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

/* Resolved path of the header that `includer` includes as "name", or NULL; the caller frees it. */
static char *resolve(const reader_t *reader, const char *includer, const char *name) {
    AUTO_FREE char *copy = mem_text(includer);
    AUTO_FREE char *beside = mem_format("%s/%s", dirname(copy), name);
    AUTO_FREE char *shared = mem_format("%s/kernels/%s", reader->root, name);
    char *found = realpath(beside, NULL);
    if (found == NULL)
        found = realpath(shared, NULL);
    return found;
}

static status_t note_spelling(reader_t *reader, const char *written, const char *meant,
                              error_t *err) {
    size_t known = list_index(&reader->written, written);
    if (known == reader->written.n) {
        text_list_add(&reader->written, written);
        text_list_add(&reader->meant, meant);
    } else if (strcmp(reader->meant.items[known], meant) != 0) {
        return error_set(err, STATUS_USAGE,
                         "%s: #include \"%s\" means %s in one file and %s in another: rename one, "
                         "NVRTC identifies headers by name only",
                         reader->source->name, written, reader->meant.items[known], meant);
    }
    return STATUS_OK;
}

static void append_code(reader_t *reader, const char *code) {
    source_t *source = reader->source;
    const size_t length = strlen(code);
    source->code = mem_resize(source->code, reader->code_bytes + length + 2, 1);
    memcpy(source->code + reader->code_bytes, code, length);
    memcpy(source->code + reader->code_bytes + length, "\n", 2);
    reader->code_bytes += length + 1;
}

static bool is_below(const text_list_t *folders, const char *path) {
    for (size_t i = 0; i < folders->n; i++)
        if (name_below(folders->items[i], path) != path)
            return true;
    return false;
}

/* Compilers print the lines that they read: an #include of any file would show it. */
static status_t refuse_include(const reader_t *reader, const char *includer, const char *line,
                               const char *name, error_t *err) {
    return error_set(
        err, STATUS_USAGE,
        "%s:%s: #include \"%s\" is outside of kernel folders; expected a file in %s or "
        "%s, or a CUDA header",
        name_below(reader->root, includer), line, name, reader->folders.items[0],
        reader->folders.items[1]);
}

/* Note header number `i` of the includes of `includer`. One that is not found is the compiler's. */
static status_t note_header(reader_t *reader, const char *includer, const includes_t *includes,
                            size_t i, error_t *err) {
    const char *name = includes->quoted.items[i], *line = includes->lines.items[i];
    AUTO_FREE char *path = resolve(reader, includer, name);
    if (path == NULL ? source_leaves_folder(name) : !is_below(&reader->folders, path))
        return refuse_include(reader, includer, line, name, err);
    if (path == NULL) {
        reader->source->system_includes = true;
        return STATUS_OK;
    }
    text_list_add_new(&reader->files, path);
    return note_spelling(reader, name, name_below(reader->root, path), err);
}

/* Read file number `index` and queue the headers that it includes. */
static status_t read_file(reader_t *reader, size_t index, error_t *err) {
    AUTO_FREE char *path = mem_text(reader->files.items[index]), *text = NULL; /* the list grows */
    AUTO(includes_free) includes_t includes = {0};
    size_t size;
    TRY(fs_read(path, &text, &size, err));
    if (strlen(text) != size)
        return error_set(err, STATUS_USAGE, "%s: a NUL byte in a source file", path);
    AUTO_FREE char *code = source_strip(text, &includes);
    append_code(reader, code);
    if (includes.refused != NULL)
        return error_set(err, STATUS_USAGE, "%s:%s", name_below(reader->root, path),
                         includes.refused);
    reader->source->system_includes = reader->source->system_includes || includes.system;
    for (size_t i = 0; i < includes.quoted.n; i++)
        TRY(note_header(reader, path, &includes, i, err));
    if (index == 0) {
        reader->source->text = text;
        text = NULL;
    } else {
        text_list_add(&reader->source->header_names, name_below(reader->root, path));
        text_list_add(&reader->source->header_texts, text);
    }
    return STATUS_OK;
}

static void add_spellings(const reader_t *reader) {
    source_t *source = reader->source;
    for (size_t i = 0; i < reader->written.n; i++) {
        if (text_list_has(&source->header_names, reader->written.items[i]))
            continue;
        text_list_add(&source->header_names, reader->written.items[i]);
        text_list_add_format(&source->header_texts, "#include \"%s\"\n", reader->meant.items[i]);
    }
}

static void digest(source_t *source) {
    hash_t *hash = hash_new();
    hash_add_text(hash, source->text);
    for (size_t i = 0; i < source->header_names.n; i++) {
        hash_add_text(hash, source->header_names.items[i]);
        hash_add_text(hash, source->header_texts.items[i]);
    }
    hash_finish(hash, source->digest);
}

static void source_free(source_t *source) {
    free(source->path);
    free(source->name);
    free(source->text);
    text_list_free(&source->header_names);
    text_list_free(&source->header_texts);
    free(source->code);
    free(source);
}

static void add_folder(reader_t *reader, char *path) {
    AUTO_FREE char *resolved = realpath(path, NULL);
    text_list_add(&reader->folders, resolved != NULL ? resolved : path);
    free(path);
}

/* The source's own, with common/ beside it, and the project's; kernels/common may be a link. */
static void add_folders(reader_t *reader, const char *path) {
    AUTO_FREE char *copy = mem_text(path);
    add_folder(reader, mem_text(dirname(copy)));
    add_folder(reader, mem_format("%s/kernels", reader->root));
    add_folder(reader, mem_format("%s/kernels/common", reader->root));
    add_folder(reader, mem_format("%s/../common", reader->folders.items[0]));
}

static void free_reader(reader_t *reader) {
    free(reader->root);
    text_list_free(&reader->files);
    text_list_free(&reader->folders);
    text_list_free(&reader->written);
    text_list_free(&reader->meant);
}

static status_t read_source(const char *root, const char *path, source_t *source, error_t *err) {
    AUTO(free_reader) reader_t reader = {.root = realpath(root, NULL), .source = source};
    AUTO_FREE char *resolved = realpath(path, NULL);
    if (reader.root == NULL || resolved == NULL)
        return error_set(err, STATUS_USAGE, "%s: no such file", reader.root ? path : root);
    source->path = mem_text(path);
    source->name = mem_text(name_below(reader.root, resolved));
    add_folders(&reader, path);
    if (!is_below(&reader.folders, resolved))
        return error_set(err, STATUS_USAGE, "%s: a link to %s, outside of kernel folders", path,
                         resolved);
    text_list_add(&reader.files, resolved);
    for (size_t i = 0; i < reader.files.n; i++)
        TRY(read_file(&reader, i, err));
    add_spellings(&reader);
    digest(source);
    return STATUS_OK;
}

status_t source_get(source_set_t *set, const char *root, const char *path, const source_t **source,
                    error_t *err) {
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i]->path, path) == 0) {
            *source = set->items[i];
            return STATUS_OK;
        }
    *source = NULL;
    source_t *fresh = mem_zeroed(1, sizeof *fresh);
    status_t status = read_source(root, path, fresh, err);
    if (status != STATUS_OK) {
        source_free(fresh);
        return status;
    }
    mem_grow(&set->items, set->n, &set->capacity, sizeof *set->items);
    set->items[set->n++] = fresh;
    *source = fresh;
    return STATUS_OK;
}

void source_set_free(source_set_t *set) {
    for (size_t i = 0; i < set->n; i++)
        source_free(set->items[i]);
    free(set->items);
    *set = (source_set_t){0};
}

bool source_mentions(const source_t *source, const char *name) {
    size_t length = strlen(name);
    const char *at = source->code;
    while ((at = strstr(at, name)) != NULL) {
        if ((at == source->code || !is_word(at[-1])) && !is_word(at[length]))
            return true;
        at++;
    }
    return false;
}
