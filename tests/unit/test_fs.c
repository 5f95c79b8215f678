/* io/fs: reading, writing, folders and paths; every refusal names its path. */
#include "checks.h"
#include "gzip_file.h"
#include "io/folders.h"
#include "io/fs.h"
#include "temporary_folder.h"

#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_ok(const char *path, const void *data, size_t size) {
    assert_ok(fs_write_atomic(path, data, size, &err));
}

static void assert_content(const char *path, const char *expected, size_t expected_size) {
    AUTO_FREE char *data;
    size_t size;
    assert_ok(fs_read(path, &data, &size, &err));
    assert_int_equal(size, expected_size);
    assert_memory_equal(data, expected, size);
    assert_int_equal(data[size], '\0');
}

static size_t count_entries(const char *folder) {
    AUTO(text_list_free) text_list_t names = {0};
    assert_ok(fs_list(folder, "", &names, &err));
    return names.n;
}

/* Bytes that do not compress well, and cross every buffer's size. */
static char *noise(size_t size) {
    char *data = mem_alloc(size);
    uint32_t x = 1;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        data[i] = (char)(x >> 24);
    }
    return data;
}

static void what_is_written_is_read(void **state) {
    AUTO_FREE char *path = fs_join(*state, "file");
    write_ok(path, "", 0);
    assert_content(path, "", 0);
    write_ok(path, "x", 1);
    assert_content(path, "x", 1);
    write_ok(path, "a\0b\n", 4);
    assert_content(path, "a\0b\n", 4);
    AUTO_FREE char *large = noise(3000001);
    write_ok(path, large, 3000001);
    assert_content(path, large, 3000001);
    assert_int_equal(count_entries(*state), 1); /* no temporary file stays */
    assert_int_equal(unlink(path), 0);
}

static void files_follow_the_umask(void **state) {
    AUTO_FREE char *path = fs_join(*state, "mode");
    mode_t before = umask(027);
    write_ok(path, "x", 1);
    umask(before);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(unlink(path), 0);
}

static void a_failed_write_leaves_nothing(void **state) {
    AUTO_FREE char *folder = fs_join(*state, "in_the_way");
    AUTO_FREE char *inside = fs_join(folder, "keep");
    assert_ok(fs_make_folders(folder, &err));
    write_ok(inside, "old", 3);
    assert_fails_with(fs_write_atomic(folder, "new", 3, &err), STATUS_USAGE, folder);
    assert_content(inside, "old", 3);
    assert_int_equal(count_entries(*state), 1);
    AUTO_FREE char *missing = fs_join(*state, "no/such/folder/file");
    AUTO_FREE char *said = mem_format("%s: cannot write: No such file", missing);
    assert_fails_with(fs_write_atomic(missing, "x", 1, &err), STATUS_USAGE, said);
    assert_ok(fs_remove_tree(folder, &err));
}

static void a_pipe_is_never_replaced(void **state) {
    AUTO_FREE char *fifo = fs_join(*state, "fifo");
    struct stat info;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_fails_with(fs_write_atomic(fifo, "new", 3, &err), STATUS_USAGE,
                      "fifo: a pipe or device");
    assert_int_equal(lstat(fifo, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_int_equal(count_entries(*state), 1);
    assert_int_equal(unlink(fifo), 0);
}

static char *read_raw(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *data = mem_alloc(1 << 20);
    *size = fread(data, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    return data;
}

static void a_new_file_replaces_none(void **state) {
    bool exists;
    AUTO_FREE char *path = fs_join(*state, "new");
    const size_t n = count_entries(*state);
    assert_ok(fs_write_new(path, "first", 5, &exists, &err));
    assert_false(exists);
    assert_ok(fs_write_new(path, "again", 5, &exists, &err));
    assert_true(exists);
    assert_content(path, "first", 5);
    assert_int_equal(count_entries(*state), n + 1); /* no temporary files */
    assert_int_equal(unlink(path), 0);
    free(path);
    path = fs_join(*state, "no/such/folder");
    assert_fails_with(fs_write_new(path, "x", 1, &exists, &err), STATUS_USAGE, path);
}

/* Its error begins with the path and says why; nothing is left in the caller's hands. */
static void assert_unreadable(const char *path, const char *why) {
    char *data = (char *)path;
    size_t size;
    AUTO_FREE char *begin = mem_format("%s: ", path);
    assert_fails_with(fs_read(path, &data, &size, &err), STATUS_USAGE, begin);
    assert_fails_with(fs_read(path, &data, &size, &err), STATUS_USAGE, why);
    assert_null(data);
}

static void gzip(void **state) {
    static const size_t sizes[] = {0, 1, 200000};
    AUTO_FREE char *path = fs_join(*state, "cases.jsonl.gz");
    AUTO_FREE char *data = noise(200000);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_ok(write_gzip(path, data, sizes[i], &err));
        size_t packed_size;
        AUTO_FREE char *packed = read_raw(path, &packed_size);
        assert_memory_equal(packed, "\x1f\x8b\x08", 3);
        assert_memory_equal(packed + 4, "\0\0\0\0", 4); /* no time stamp: same data, same file */
        assert_content(path, data, sizes[i]);
        /* Cut anywhere (but not before the magic) it must be an error, not a shorter file. */
        const size_t cuts[] = {3, packed_size / 2, packed_size - 9, packed_size - 1};
        for (size_t c = 0; c < COUNT_OF(cuts); c++) {
            write_ok(path, packed, cuts[c]);
            assert_unreadable(path, "");
        }
        packed[packed_size - 6] ^= 1; /* the checksum */
        write_ok(path, packed, packed_size);
        assert_unreadable(path, "broken gzip file");
    }
    assert_int_equal(unlink(path), 0);
}

static void unreadable_files(void **state) {
    AUTO_FREE char *missing = fs_join(*state, "missing.json");
    int fd = 1;
    size_t size = 1;
    char *data;
    assert_unreadable(missing, "No such file");
    assert_fails_with(fs_read(missing, &data, &size, &err), STATUS_USAGE, "No such file");
    assert_int_equal(size, 0);
    assert_unreadable(*state, "Is a directory");
    assert_fails_with(fs_open_file(*state, &fd, &size, &err), STATUS_USAGE, "Is a directory");
    assert_int_equal(fd, -1);
}

static void folders(void **state) {
    char *deep = fs_join(*state, "a/b//c/"), *a = fs_join(*state, "a");
    assert_ok(fs_make_folders(deep, &err));
    assert_ok(fs_make_folders(deep, &err));
    assert_true(fs_is_folder(deep));
    AUTO_FREE char *file = fs_join(deep, "z.json"), *other = fs_join(deep, "a.json");
    AUTO_FREE char *third = fs_join(deep, ".hidden");
    write_ok(file, "{}", 2);
    write_ok(other, "{}", 2);
    write_ok(third, "", 0);
    assert_true(fs_exists(file) && !fs_is_folder(file));
    text_list_t names = {0};
    assert_ok(fs_list(deep, ".json", &names, &err));
    assert_text(text_list_join(&names, " "), "a.json z.json");
    text_list_free(&names);
    assert_int_equal(count_entries(deep), 3);

    AUTO_FREE char *below = fs_join(file, "x/y");
    assert_fails_with(fs_make_folders(below, &err), STATUS_USAGE, file);
    assert_fails_with(fs_list(below, "", &names, &err), STATUS_USAGE, below);
    assert_ok(fs_remove_tree(a, &err));
    assert_false(fs_exists(a));
    assert_ok(fs_remove_tree(a, &err)); /* missing is fine */
    free(deep);
    free(a);
}

static void removing_spares_what_links_point_at(void **state) {
    AUTO_FREE char *kept = fs_join(*state, "kept"), *precious = fs_join(kept, "precious");
    AUTO_FREE char *doomed = fs_join(*state, "doomed"), *inner = fs_join(doomed, "link");
    AUTO_FREE char *link = fs_join(*state, "link"), *link_slash = fs_join(*state, "link/");
    assert_ok(fs_make_folders(kept, &err));
    assert_ok(fs_make_folders(doomed, &err));
    write_ok(precious, "!", 1);
    assert_int_equal(symlink(kept, inner), 0);
    assert_int_equal(symlink(kept, link), 0);
    assert_ok(fs_remove_tree(doomed, &err));
    assert_false(fs_exists(doomed));
    assert_content(precious, "!", 1);
    assert_ok(fs_remove_tree(link_slash, &err));
    struct stat info;
    assert_int_not_equal(lstat(link, &info), 0);
    assert_content(precious, "!", 1);
    assert_ok(fs_remove_tree(kept, &err));
}

static void paths(void **state) {
    static const struct {
        const char *folder, *name, *joined;
    } joins[] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"/", "b", "/b"}};
    for (size_t i = 0; i < COUNT_OF(joins); i++) {
        AUTO_FREE char *joined = fs_join(joins[i].folder, joins[i].name);
        assert_string_equal(joined, joins[i].joined);
    }
    static const struct {
        const char *path, *stem;
    } stems[] = {{"sweeps/study.json", "study"},    {"study", "study"},       {"a.b/c", "c"},
                 {"cases.jsonl.gz", "cases.jsonl"}, {"x/.hidden", ".hidden"}, {"x/", ""}};
    for (size_t i = 0; i < COUNT_OF(stems); i++) {
        AUTO_FREE char *stem = fs_stem(stems[i].path);
        assert_string_equal(stem, stems[i].stem);
    }
}

static void programs_are_found_on_the_path(void **state) {
    AUTO_FREE char *old_path = mem_text(getenv("PATH"));
    AUTO_FREE char *first = fs_join(*state, "first"), *second = fs_join(*state, "second");
    AUTO_FREE char *plain = fs_join(first, "tool"), *folder = fs_join(first, "other");
    AUTO_FREE char *tool = fs_join(second, "tool"), *other = fs_join(second, "other");
    assert_ok(fs_make_folders(folder, &err)); /* a folder is no program */
    assert_ok(fs_make_folders(second, &err));
    write_ok(plain, "", 0); /* not executable */
    write_ok(tool, "", 0);
    write_ok(other, "", 0);
    assert_int_equal(chmod(tool, 0755), 0);
    assert_int_equal(chmod(other, 0755), 0);
    AUTO_FREE char *path = mem_format("%s:%s", first, second);
    setenv("PATH", path, 1);
    const char *const found[] = {tool, other};
    const char *const asked[] = {"tool", "other"};
    for (size_t i = 0; i < 2; i++) {
        assert_text(fs_find_program(asked[i]), found[i]);
    }
    assert_null(fs_find_program("no_such_tool"));
    assert_null(fs_find_program(plain));
    char *program = fs_find_program(tool); /* a path is taken as it is */
    assert_string_equal(program, tool);
    free(program);
    setenv("PATH", old_path, 1);
}

static void the_project_root(void **state) {
    char *root = NULL, *project = fs_join(*state, "project"), *here = getcwd(NULL, 0);
    AUTO_FREE char *kernels = fs_join(project, "kernels"), *sweeps = fs_join(project, "sweeps");
    AUTO_FREE char *resolved = realpath(*state, NULL), *expected = fs_join(resolved, "project");

    setenv("BENCH_ROOT", project, 1);
    assert_ok(fs_make_folders(kernels, &err)); /* alone, it is not enough */
    assert_fails_with(folders_data(&root, &err), STATUS_USAGE, project);
    assert_null(root);
    assert_ok(fs_make_folders(sweeps, &err));
    assert_ok(folders_data(&root, &err));
    assert_string_equal(root, expected);
    free(root);

    /* Neither the folder above this test nor the temporary one is a project; then the current one is, and the one
     * that it is in. A folder of that shape may be anyone's. */
    unsetenv("BENCH_ROOT");
    assert_int_equal(chdir(*state), 0);
    assert_fails_with(folders_data(&root, &err), STATUS_USAGE, "set BENCH_ROOT");
    assert_int_equal(chdir(project), 0);
    assert_fails_with(folders_data(&root, &err), STATUS_USAGE, "set BENCH_ROOT");
    AUTO_FREE char *ours = fs_join(kernels, "workload.schema.json");
    write_ok(ours, "{}", 2);
    for (int below = 0; below < 2; below++) {
        assert_int_equal(chdir(below ? "kernels" : "."), 0);
        assert_ok(folders_data(&root, &err));
        assert_string_equal(root, expected);
        free(root);
    }
    assert_int_equal(chdir(here), 0);

    AUTO_FREE char *executable = NULL;
    assert_ok(fs_executable(&executable, &err));
    assert_true(text_starts(executable, "/") && text_ends(executable, "/test_fs"));
    free(project);
    free(here);
}

static void temporary_folders_follow_tmpdir(void **state) {
    char *old = mem_text(getenv("TMPDIR")), *folder = NULL;
    setenv("TMPDIR", *state, 1);
    folder = temporary_folder();
    assert_true(text_starts(folder, *state));
    struct stat info;
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    fs_remove_temporary(&folder);
    setenv("TMPDIR", "/no/such/folder", 1);
    folder = *state; /* neither freed nor left */
    assert_fails_with(fs_temporary_folder(&folder, &err), STATUS_USAGE, "/no/such/folder");
    assert_null(folder);
    fs_remove_temporary(&folder);
    assert_fails_with(fs_check_temporary(&err), STATUS_USAGE, "/no/such/folder");
    if (old == NULL)
        unsetenv("TMPDIR");
    else
        setenv("TMPDIR", old, 1);
    free(old);
}

static void refuses_to_remove(const char *path) {
    assert_fails_with(fs_remove_tree(path, &err), STATUS_FAILED, "bench did not make it");
}

static void only_what_bench_made_is_removed(void **state) {
    AUTO_FREE char *odd = fs_join(*state, "../bench-1-2"), *above = fs_join(*state, "x/../../..");
    refuses_to_remove("/no/such/folder");
    refuses_to_remove("");
    refuses_to_remove("/tmp");
    refuses_to_remove("/tmp/bench-1-2-abc");            /* too short */
    refuses_to_remove("/tmp/bench-1-2-abcdefg");        /* too long */
    refuses_to_remove("/tmp/my-bench-1-2-abcdef/file"); /* another's */
    refuses_to_remove(odd);
    refuses_to_remove(above);
    assert_ok(fs_remove_tree("/tmp/bench-1-2-abcdef", &err)); /* missing */

    AUTO_FREE char *folder = fs_join(*state, "run"), *part = fs_join(folder, "compiled");
    AUTO_FREE char *mark = fs_join(folder, "run.json"), *inside = fs_join(part, "file");
    assert_ok(fs_make_folders(part, &err));
    write_ok(inside, "x", 1);
    assert_fails_with(fs_remove_marked(part, "../run.json", &err), STATUS_FAILED, part);
    assert_true(fs_exists(inside));
    write_ok(mark, "{}", 2);
    assert_fails_with(fs_remove_marked(mark, "../run.json", &err), STATUS_FAILED,
                      mark); /* a file */
    assert_ok(fs_remove_marked(part, "../run.json", &err));
    assert_false(fs_exists(part));
    assert_ok(fs_remove_marked(part, "../run.json", &err)); /* missing */
    assert_ok(fs_make_folders(part, &err));
    assert_ok(fs_remove_marked(part, "no mark", &err)); /* empty */
    assert_fails_with(fs_remove_file(folder, &err), STATUS_USAGE, folder);
    assert_ok(fs_remove_file(mark, &err));
    assert_ok(fs_remove_file(mark, &err));
    assert_ok(fs_remove_tree(folder, &err));
}

static void file_names(void **state) {
    static const char *const same[] = {"a", "03_vectorized", "h200-2026.11.28", "c++", "b=8"};
    static const char *const odd[] = {"",        ".",     "..",   "-x",       ".gcc", "my run",
                                      "run (2)", "t%w o", "a..b", "\xc3\xa4", "a$b"};
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        assert_text(fs_file_name(same[i]), same[i]);
    }
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        AUTO_FREE char *name = fs_file_name(odd[i]);
        if (!text_is_name(name) || strlen(name) < strlen(odd[i]) + 8)
            fail_msg("\"%s\" became \"%s\"", odd[i], name);
    }
    assert_text(fs_file_name("mlp/cuda/batch=1"), "mlp_cuda_batch=1");
    AUTO_FREE char *one = fs_file_name("my run"), *other = fs_file_name("my\trun");
    assert_string_not_equal(one, other);
}

/* ---- files that others read ------------------------------------------------------------------- */

static void a_new_file_is_filled_in_memory(void **state) {
    AUTO_FREE char *path = fs_join(*state, "mapped"), *copy = fs_join(*state, "copy");
    char *values;
    /* As a gzip file begins: a copy is of the bytes. */
    const unsigned char content[] = {0x1f, 0x8b, 8, 0, 1};
    assert_ok(fs_map_new(path, sizeof content, (void **)&values, &err));
    memcpy(values, content, sizeof content);
    munmap(values, sizeof content);
    assert_ok(fs_copy_new(path, copy, &err));
    FILE *file = fopen(copy, "rb");
    unsigned char found[sizeof content + 1];
    assert_int_equal(fread(found, 1, sizeof found, file), sizeof content);
    fclose(file);
    assert_memory_equal(found, content, sizeof content);
    assert_fails_with(fs_map_new(path, 1, (void **)&values, &err), STATUS_USAGE,
                      "mapped: cannot create: File exists");
    assert_null(values);
    assert_ok(fs_remove_file(path, &err));
    assert_ok(fs_map_new(path, 0, (void **)&values, &err));
    assert_null(values);
}

static void without_space_it_says_how_much(void **state) {
    AUTO_FREE char *path = fs_join(*state, "huge");
    void *values;
    assert_fails_with(fs_map_new(path, (size_t)1 << 50, &values, &err), STATUS_USAGE,
                      "huge: needs 1.13 PB: ");
    assert_false(fs_exists(path));
}

static void small_files_are_in_memory(void **state) {
    char *folder;
    if (access("/dev/shm", W_OK) != 0)
        skip();
    assert_ok(fs_temporary_folder_for(1, &folder, &err));
    assert_true(text_starts(folder, "/dev/shm/bench-"));
    fs_remove_temporary(&folder);
    assert_ok(fs_temporary_folder_for((size_t)1 << 60, &folder, &err));
    assert_false(text_starts(folder, "/dev/shm/"));
    fs_remove_temporary(&folder);
}

/* A child that has ended and is reaped had a number that nobody has now. */
static long dead_pid(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

static void folders_in_memory_of_a_dead_process_go(void **state) {
    error_t err = ERROR_INIT;
    int ends[2];
    char path[PATH_MAX] = "";
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char *folder;
        if (fs_temporary_folder_for(1, &folder, &err) == STATUS_OK)
            fs_write_all(ends[1], folder, strlen(folder));
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(read(ends[0], path, sizeof path - 1) > 0);
    assert_true(fs_is_folder(path));
    fs_remove_dead_folders();
    assert_false(fs_exists(path));
    close(ends[0]);
    close(ends[1]);
}

static void orphans_are_removed_and_nothing_else(void **state) {
    long dead = dead_pid();
    char *folder = temporary_folder();
    char *gone[] = {mem_format("run.json.%ld-0.tmp", dead), mem_format("a.b.%ld-12.tmp", dead)};
    char *kept[] = {mem_format("run.json.%ld-0.tmp", (long)getpid()),
                    mem_format("run.json.%ld-0.tmp2", dead),
                    mem_format("run.json.%ld.tmp", dead),
                    mem_text("run.json.-1-0.tmp"),
                    mem_text("1-0.tmp"),
                    mem_text(".tmp"),
                    mem_text("notes.tmp")};
    const size_t n_gone = COUNT_OF(gone), n_kept = COUNT_OF(kept);
    for (size_t i = 0; i < n_gone + n_kept; i++) {
        AUTO_FREE char *path = fs_join(folder, i < n_gone ? gone[i] : kept[i - n_gone]);
        assert_ok(fs_write_atomic(path, "half", 4, &err));
    }
    fs_remove_orphans(folder);
    for (size_t i = 0; i < n_gone + n_kept; i++) {
        AUTO_FREE char *name = i < n_gone ? gone[i] : kept[i - n_gone],
                       *path = fs_join(folder, name);
        assert_int_equal(fs_exists(path), i >= n_gone);
    }
    fs_remove_temporary(&folder);
    fs_remove_orphans("/no/such/folder");
}

#define GROUP_SET_UP make_folder
#define GROUP_TEAR_DOWN remove_folder
#include "run_tests.h"
