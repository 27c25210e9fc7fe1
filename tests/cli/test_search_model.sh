#!/usr/bin/env bash
# cli: search-model, and sweeps of the models that it finds.
. "${0%/*}/lib.sh"

configs=$source_dir/configs

# Writes space.toml: the original's space, of three kinds of mixers.
zhen_space()
{
    toml model_space: mixers=DOT,LINEAR,ATTENTION total_mixers=12 num_zhen_layers='{ from = 1, to = 4 }' \
        num_features=512 emb_dim=160 output_per_emb=50 model_space.base: num_features=512 emb_dim=160 \
        output_per_emb=50 num_zhen_layers=4 tokens=ATTENTION,LINEAR,ATTENTION,DOT >space.toml
}

# Writes sweep.toml: twelve tiny models in a sweep whose job prints a score.
tiny_space()
{
    toml sweep: name=tiny objective=max:score list_values='["tokens"]' job: \
        command='["/bin/sh", "-c", '\''echo "score: $1$2" # $3'\'', "sh", "{emb_dim}", "{x}", "{tokens}"]' \
        job.metrics.score: regex='score: ([0-9.]+)' better=max training_spec: x=1,2 \
        model_space: seed=3 mixers=DOT,LINEAR mixers_per_layer=1 num_zhen_layers=1,2 num_features=8 emb_dim=4,16 \
        output_per_emb=2 model_space.sample:: take=2 each=num_zhen_layers >sweep.toml
}

count__similar_models__known_numbers_and_what_was_removed()
{
    zhen_space
    toml model_space.filter:: preset=similar-parameters model_space.filter:: preset=uniform-mixer mixer=DOT \
        >>space.toml
    expect_said only_stdout 0 'layers           candidates                 kept
1                        91                    0
2                      6006                    0
3                    107679                   25
4                    884962                   96
all                  998738                  121
similar-parameters removed 902675
uniform-mixer removed 95940
--where removed 2' search-model -c space.toml --count --where 'layer_count <> 2'
    sed -i '/uniform-mixer/,$d' space.toml
    sed -i '$d' space.toml
    run_meshsweep search-model -c space.toml --count
    expect_only_stdout_contains 0 '2                      6006                  780'
    expect_stdout_contains '3                    107679                15060'
    expect_stdout_contains '4                    884962                80223'
    expect_stdout_contains 'all                  998738                96063'
}

recipe__printed__same_models_for_ever()
{
    expect_run status 0 search-model -c "$configs/zhen-search.toml"
    expect_stdout_contains 'list_values = ["tokens"]'
    expect_stderr 'meshsweep: similar-parameters removed 14487 of the 15502 candidates looked at
meshsweep: num_zhen_layers = 1: 0 of 20 models: there are no more
meshsweep: 141 models of 998738 candidates'
    expect '[ "$(grep -c "^\[\[model\]\]$" .stdout)" = 141 ]'
    expect '[ "$(sha256sum <.stdout)" = "9d5d33cf6c8b9c5a23e305e1b6b00ec51d558b845fe6d0a3f7a947be09e3fbec  -" ]'
    cp .stdout models.toml
    expect_run only_status 0 search-model -c "$configs/zhen-search.toml" --seed 2
    expect '! cmp -s .stdout models.toml'
}

recipe__printed_and_included__same_plan()
{
    expect_run only_status 0 search-model -c "$configs/zhen-search.toml"
    cp .stdout models.toml
    {
        echo 'include = ["models.toml"]'
        sed '/^\[model_space\]/,/^each/d' "$configs/zhen-search.toml"
    } >sweep.toml
    expect_said only_stdout_contains 0 '"jobs":	282' plan --json
    expect_said only_stdout_contains 0 '"jobs":	141' plan -c models.toml --json
}

recipe__checked__candidates_reported()
{
    expect_said only_stdout_contains 0 '998738 model candidates' check "$configs/zhen-search.toml"
}

option__search_model_of_a_file_with_nothing_else__prints()
{
    printf '%s\n' '[model_space.keys]' 'layers = { from = 1, to = 2 }' 'width = [8, 16]' >sweep.toml
    expect_run status 0 --search-model
    expect_stdout '# Models from 4 candidates.

[[model]]
layers = 1
width = 8

[[model]]
layers = 1
width = 16

[[model]]
layers = 2
width = 8

[[model]]
layers = 2
width = 16'
    expect_stderr 'meshsweep: 4 models of 4 candidates'
    expect_no_file results.db
    expect_run status 0 search-model --limit 1 --offset 2
    expect_stdout '# Models from 4 candidates.

[[model]]
layers = 2
width = 8'
    expect_stderr 'meshsweep: 1 model of 4 candidates'
}

run__search_model__sample_swept_and_recorded()
{
    tiny_space
    expect_said only_stderr_contains 0 '4 models of 12 candidates' run --search-model --progress none
    expect_sql '8' "SELECT count(*) FROM job WHERE state = 'ok'"
    expect_sql '4|4' "SELECT sum(num_zhen_layers = 1), sum(num_zhen_layers = 2) FROM results"
    expect_sql '0' "SELECT count(*) FROM results WHERE score <> emb_dim * 10 + x"
    run_meshsweep plan --search-model --json
    expect_among_stdout 0 '"done":	8' '"new":	0'
    expect_run only_status 0 why --search-model x=1 num_zhen_layers=2
}

# A model is the same job, whether it came from the space or from a file.
run__printed_models_included__nothing_new()
{
    tiny_space
    expect_run only_stderr 0 run --search-model --progress none
    expect_run only_status 0 search-model
    cp .stdout models.toml
    {
        echo 'include = ["models.toml"]'
        sed '/^\[model_space\]/,$d' sweep.toml
    } >included.toml
    run_meshsweep plan -c included.toml --json
    expect_only_stdout_contains 0 '"done":	8' '"new":	0'
    expect_run silent 0 run -c models.toml -d alone.db --progress none -- /bin/echo '{tokens}'
    expect_sql '4' "SELECT count(*) FROM job WHERE state = 'ok'" alone.db
}

run__models_of_its_own_too__those_of_the_space_are_swept()
{
    tiny_space
    printf '[[model]]\nemb_dim = 1\ntokens = ["DOT"]\n' >>sweep.toml
    expect_said only_stdout_contains 0 '"jobs":	2' plan --json
    expect_run status 0 plan --search-model --json
    expect_stdout_contains '"jobs":	8'
    expect_stderr_contains 'sweep.toml: models of [model_space] replace 1 [[model]] blocks'
}

# Another seed makes another sweep of the same file: jobs that both have are not run again.
run__other_seed__other_models()
{
    tiny_space
    sed -i 's/take = 2/take = 3/' sweep.toml
    expect_run only_stderr 0 run --search-model --progress none
    sed -i 's/seed = 3/seed = 4/' sweep.toml
    expect_run only_stderr 0 run --search-model --progress none
    expect_sql '2' 'SELECT count(DISTINCT hash) FROM sweep'
    expect_sql '0' 'SELECT count(*) FROM (SELECT job_id FROM attempt GROUP BY job_id HAVING count(*) > 1)'
}

run__model_space_forgotten__said()
{
    tiny_space
    expect_said only_stderr 2 'meshsweep: sweep.toml: its models are in [model_space]; sweep them with '\
'--search-model, or print them with meshsweep search-model' run
    expect_no_file results.db
}

refused__no_model_space__status_2()
{
    small_sweep sweep.toml
    expect_said only_stderr 2 'meshsweep: sweep.toml: there is no [model_space] to search' search-model
    expect_said only_stderr 2 'meshsweep: sweep.toml: there is no [model_space] to search' run --search-model
}

refused__no_base_to_compare_with__status_2()
{
    zhen_space
    sed -i '/model_space.base/,$d' space.toml
    run_meshsweep search-model -c space.toml --where 'params < base.params'
    expect_only_stderr 2 'meshsweep: --where: `base.params`: there is no [model_space.base] to compare with'
}

nothing__filter_removes_all__status_4_which_and_how_many()
{
    zhen_space
    printf '%s\n' '[[model_space.filter]]' 'name = "tiny"' 'where = "params < 1000"' >>space.toml
    run_meshsweep search-model -c space.toml
    expect_only_stderr 4 'meshsweep: no model is left of 998738 candidates: tiny removed 998738'
    expect_said only_stdout_contains 0 'tiny removed 998738' search-model -c space.toml --count
    {
        cat space.toml
        printf '[job]\ncommand = "true"\n'
    } >sweep.toml
    expect_said only_stderr_contains 4 'no model is left of 998738 candidates: tiny removed 998738' run --search-model
}

refused__wrong_options__status_2()
{
    zhen_space
    expect_said only_stderr 2 'meshsweep: --seed x: must be an integer' search-model -c space.toml --seed x
    run_meshsweep search-model -c space.toml --json
    expect_only_stderr 2 'meshsweep: search-model: --json needs --count; models are printed as TOML'
    expect_run only_stderr 2 search-model -c space.toml --limit 0
}

# A reader that has seen enough ends it, as any other filter of text.
output__reader_goes__ends_quietly()
{
    zhen_space
    run_command bash -c "set -o pipefail; '$meshsweep' search-model -c space.toml | head -n 3"
    expect_only_stdout_contains 141 '# Models from 998738 candidates.'
}

run_cases "$@"
