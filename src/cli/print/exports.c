// SPDX-License-Identifier: MIT
/* Collects and writes the exports asked for, none over an input or another output. */
#include "cli/print/options.h"
#include "sys/unpack.h"

static const struct {
	const char *name;
	enum profile_value value;
} cost_types[] = {
		{"allocations", PROFILE_ALLOC_OBJECTS},
		{"temporary", PROFILE_TEMPORARY},
		{"leaked", PROFILE_LIVE_BYTES},
		{"peak", PROFILE_PEAK_BYTES},
};

static struct export_job *add_job(struct export_options *o, const char *path, struct err *err) {
	if (o->n == EXPORTS_MAX) {
		(void)err_usage(err, "too many exports; at most %d", EXPORTS_MAX);
		return NULL;
	}
	o->jobs[o->n] = (struct export_job){.path = path};
	return &o->jobs[o->n++];
}

bool export_take(const struct option_given *g) {
	struct export_options *o = option_field(g);
	const char *equals = strchr(g->value, '=');
	if (!equals || equals == g->value || !equals[1]) {
		return err_usage(g->err,
				"--export: invalid value \"%s\"; use NAME=OUT, e.g. pprof=app.pb.gz", g->value);
	}
	struct slice name = slice_of(g->value, (size_t)(equals - g->value));
	const struct exporter *exporter = exporter_find(name, g->err);
	struct export_job *job = exporter ? add_job(o, equals + 1, g->err) : NULL;
	if (!job) {
		return false;
	}
	job->exporter = exporter;
	o->has_new = true;
	return true;
}

bool export_take_classic(const struct option_given *g) {
	struct export_job *job = add_job(option_field(g), g->value, g->err);
	if (job) {
		const char *name = g->row->letter == 'F' ? "folded"
				: g->row->letter == 'M'          ? "massif"
												 : "histogram";
		job->exporter = exporter_find(slice_of_text(name), NULL);
		job->is_flamegraph = g->row->letter == 'F';
	}
	return job;
}

bool export_take_cost_type(const struct option_given *g) {
	struct export_options *o = option_field(g);
	__auto_type cost = FIND(c, cost_types, N_OF(cost_types), strcmp(c->name, g->value) == 0);
	o->write.shown = cost ? cost->value : o->write.shown;
	return cost ||
			err_usage(g->err,
					"--flamegraph-cost-type: unknown cost \"%s\"; use allocations, temporary, "
					"leaked or peak",
					g->value);
}

bool export_take_threshold(const struct option_given *g) {
	struct export_options *o = option_field(g);
	struct slice rest = slice_of_text(g->value);
	return (take_fraction(&rest, &o->write.massif.threshold_percent) && rest.size == 0 &&
				   o->write.massif.threshold_percent <= 100) ||
			err_usage(g->err, "--massif-threshold: invalid percentage \"%s\"", g->value);
}

struct out {
	struct packer *packer;
	bool is_broken; // writing failed, and `err` names the file
};

static bool put_out(void *user, struct slice bytes, struct err *err) {
	struct out *out = user;
	out->is_broken = !packer_write(out->packer, bytes, err);
	return !out->is_broken;
}

bool export_file(const struct export_job *job, struct export_request *request, struct err *err) {
	bool is_packed = ends_with(slice_of_text(job->exporter->suffix), ".gz");
	enum packer_how how = is_packed ? PACKER_GZIP : PACKER_BY_NAME;
	struct out out = {.packer = packer_open(job->path, how, err)};
	if (!out.packer) {
		return false;
	}
	struct export_sink sink = {put_out, &out};
	request->has_shown = job->is_flamegraph;
	if (!exporter_write(job->exporter, request, &sink, err)) {
		packer_cancel(out.packer);
		if (!out.is_broken) {
			(void)err_add(err, "%s", job->path);
		}
		return false;
	}
	return packer_finish(out.packer, err);
}

bool export_all(const struct export_options *o, struct export_request *request, struct err *err) {
	const enum lens_metric m = request->lens->metric;
	request->options = o->write;
	return (o->n == 0 || lens_metrics[m].of == METRIC_OF_BLOCKS ||
				   err_usage(err, "m=%s: an export shows blocks alone", lens_metric_names[m])) &&
			ALL(i, o->n, export_file(&o->jobs[i], request, err));
}

// ---- the files that a call of heaptrack_print writes

bool outputs_add(struct outputs *o, const char *path, struct err *err) {
	if (!path) {
		return true;
	}
	bool is_device = strncmp(path, "/dev/", strlen("/dev/")) == 0; // several may write to it
	EACH_NUMBER(i, o->n, strcmp(o->paths[i], path) == 0 && !is_device) {
		return err_usage(err, "%s is named as output more than once",
				strcmp(path, "-") == 0 ? "standard output" : path);
	}
	check(o->n < OUTPUTS_MAX);
	o->paths[o->n++] = path;
	return true;
}

bool outputs_spare(const struct outputs *o, const struct session *sessions, uint32_t n,
		struct err *err) {
	for (uint32_t i = 0; i < o->n; i++) {
		EACH_NUMBER(k, n, file_is_one(o->paths[i], sessions[k].path)) {
			return err_usage(err, "refusing to overwrite the input file %s", o->paths[i]);
		}
	}
	return true;
}
