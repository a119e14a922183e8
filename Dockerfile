# The page and the HTTP service. Not built by the checks of this repository.
#
#   docker build --tag treeformer .
#   docker run --publish 127.0.0.1:8000:8000 --env TREEFORMER_TOKEN="$(openssl rand -hex 24)" treeformer
FROM python:3.13-slim

RUN useradd --create-home --uid 10001 treeformer
WORKDIR /home/treeformer
COPY --chown=treeformer pyproject.toml constraints.txt README.md LICENSE source/
COPY --chown=treeformer treeformer source/treeformer
COPY --chown=treeformer recipes source/recipes
RUN pip install --no-cache-dir --constraint source/constraints.txt "./source[serve]"
USER 10001
EXPOSE 8000
ENV OMP_NUM_THREADS=1
ENTRYPOINT ["treeformer"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
